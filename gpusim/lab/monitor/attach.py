"""The monitor on a PyTorch module in training: it measures the inputs of convolutions, and decides what they run.

PyTorch is never imported here: the module that is given brings it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpusim.base.errors import unknown_name
from gpusim.base.sums import plain_sum
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.scheduler import MonitorError, Scheduler

IMAGE_CHANNELS = 3  # of the first convolution's input, which no ReLU has made


class CountLocation(StrEnum):
    """The place where zeros are counted.

    HOST: the map is first copied to the host, as in Dong 2020. DEVICE: by a reduction on the device, of which the count
    alone is copied. Either way the caller waits for the count.
    """

    HOST = "host"
    DEVICE = "device"


@dataclass(frozen=True)
class Decision:
    """The iteration from which on a layer runs dense or sparse."""

    iteration: int
    """First iteration."""
    sparse: bool
    """It runs sparse from there on."""


@dataclass
class LayerLog:
    """The record of a layer."""

    measured: int = 0
    """Number of iterations with a measurement of its input."""
    sparse: int = 0
    """Number of iterations in sparse mode."""
    decisions: list[Decision] = field(default_factory=list)
    """Changes of the mode."""


class AttachedMonitor:
    """Monitors convolutions of a module while it is trained; `step` ends an iteration.

    The `forward` of each convolution is wrapped until `close`, or for the time of a `with`. A layer that is called
    several times in an iteration is measured in its first call; in evaluation nothing is measured, and all layers run
    dense.

    Args:
        layers: A log for each, by name.

    Attributes:
        scheduler: Scheduler with state and sparsity list.
        iteration: The present one, from 0.
    """

    def __init__(
        self,
        network: Any,
        settings: MonitorSpec | None = None,
        layers: Iterable[str] | None = None,
        place: CountLocation = CountLocation.HOST,
        exhaustive: bool = False,
        sparse_forward: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Take an nn.Module as `network`, and wrap its convolutions.

        Raise MonitorError.

        Args:
            layers: Names of convolutions, by default all but those that read images.
            exhaustive: Measure each in every iteration, due or not.
            sparse_forward: What a layer that runs sparse computes, a function of the layer and its input, by default
                `bundled_forward`.
        """
        convolutions = {name: m for name, m in network.named_modules() if type(m).__name__ == "Conv2d"}
        names = (
            [n for n, m in convolutions.items() if m.in_channels > IMAGE_CHANNELS] if layers is None else list(layers)
        )
        for name in names:
            if name not in convolutions:
                raise MonitorError(unknown_name("convolution", name, convolutions))
        self.scheduler = Scheduler(names, settings)
        self.iteration = 0
        self.layers = {name: LayerLog() for name in names}
        self._place, self._exhaustive = place, exhaustive
        self._sparse_forward = sparse_forward or bundled_forward
        self._seen: set[str] = set()  # layers called in this iteration
        self._due: frozenset[str] = frozenset()
        self._wrapped = [(convolutions[name], convolutions[name].__dict__.get("forward")) for name in names]
        for name in names:
            convolutions[name].forward = self._wrapper(name, convolutions[name], convolutions[name].forward)
        self._look_up_due()

    def __enter__(self) -> "AttachedMonitor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the module as it was."""
        for layer, before in self._wrapped:
            if before is None:
                del layer.forward
            else:
                layer.forward = before
        self._wrapped = []

    def step(self) -> None:
        """End an iteration of the training and begin the next."""
        self.iteration += 1
        self._seen.clear()
        self._look_up_due()

    @property
    def share_measured(self) -> float:
        """Measurements / (layers × iterations that have ended); 0 before the first has."""
        whole = len(self.layers) * self.iteration
        return plain_sum(log.measured for log in self.layers.values()) / whole if whole else 0.0

    def _look_up_due(self) -> None:
        due = self.layers if self._exhaustive else self.scheduler.due(self.iteration)
        self._due = frozenset(due)

    def _wrapper(self, name: str, layer: Any, dense: Callable[..., Any]) -> Callable[..., Any]:
        def forward(maps: Any) -> Any:
            if not layer.training:
                return dense(maps)
            sparse = self.scheduler.sparse(name)  # what is measured now decides from the next iteration on
            if name not in self._seen:
                self._seen.add(name)
                self._log(name, sparse)
                if name in self._due:
                    self._measure(name, maps)
            return self._sparse_forward(layer, maps) if sparse else dense(maps)

        return forward

    def _log(self, name: str, sparse: bool) -> None:
        log = self.layers[name]
        log.sparse += sparse
        if sparse != (log.decisions[-1].sparse if log.decisions else False):
            log.decisions.append(Decision(self.iteration, sparse))

    def _measure(self, name: str, maps: Any) -> None:
        found = zero_share(maps, self._place)
        self.layers[name].measured += 1
        if self.scheduler.sparsity_list[name].due <= self.iteration:
            self.scheduler.record(self.iteration, name, found)


def zero_share(maps: Any, place: CountLocation) -> float:
    """Return zeros of a PyTorch tensor / its elements; -0 counts, NaN does not; 0 for a tensor without elements."""
    held = maps.detach()
    if place is CountLocation.HOST:
        held = held.cpu()
    elements = held.numel()
    return 1.0 - int(held.count_nonzero()) / elements if elements else 0.0


def dense_forward(layer: Any, maps: Any) -> Any:
    """Compute the layer as its class does."""
    return type(layer).forward(layer, maps)


def bundled_forward(layer: Any, maps: Any) -> Any:
    """Compute a convolution as the sparse kernels do: values rounded to FP16 as bundles hold them, sums in FP32.

    PyTorch has no kernel for it, so it takes the dense one's time. The gradient of the input is that of its FP32
    values, as the rounding is no part of the network; that of the weights is of the rounded ones.
    """
    rounded = maps + (maps.detach().half().to(maps.dtype) - maps.detach())
    return dense_forward(layer, rounded)

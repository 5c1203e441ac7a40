"""What monitoring costs a training, measured: without, exhaustive and monitored side by side (needs PyTorch).

The images are random, of the size the network takes: what a measurement costs does not depend on what is in them. The
three trainings take turns, a part of their iterations each, so that a clock that changes changes it for all.
"""

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusim.base.errors import unknown_name
from gpusim.base.formats import FIXED_3
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.capture.capture import ALL_POINTS, ON_PHOTOGRAPHS, require_torch, training_device
from gpusim.lab.monitor.attach import AttachedMonitor, CountLocation, LayerLog, dense_forward
from gpusim.lab.monitor.overhead import expected_share, monitored_overhead
from gpusim.lab.monitor.scheduler import MonitorError

SMALL, LARGE = (3, 32, 32), (3, 224, 224)  # images of CIFAR-10 and of ImageNet
SMALL_CLASSES, LARGE_CLASSES = 10, 1000
BATCHES = 8  # different ones, in turn
WARM_UP_ITERATIONS = 10  # of each training, before its clock runs
LEARNING_RATE = 0.01


@dataclass(frozen=True)
class OverheadPlan:
    """The trainings to measure."""

    model: str
    """Model of `gpusim capture`."""
    iterations: int = 5_000
    """Iterations of the training with the monitor, and of that without measurements."""
    exhaustive_iterations: int = 500
    """Iterations of the training with a measurement in each."""
    batch: int = 128
    """Batch size."""
    place: CountLocation = CountLocation.HOST
    """Place where zeros are counted."""
    device: str = "auto"
    """Device in PyTorch's notation, or 'auto'."""
    parts: int = 5
    """Number of turns into which the three trainings are divided."""
    seed: int = 0
    """Random seed."""

    def __post_init__(self) -> None:
        if self.model not in ALL_POINTS:
            raise MonitorError(unknown_name("model", self.model, ALL_POINTS))
        for name, least in (("iterations", self.parts), ("exhaustive_iterations", self.parts), ("batch", 1)):
            if getattr(self, name) < least:
                raise MonitorError(f"{name}: expected at least {least}, found {getattr(self, name)}")


@dataclass(frozen=True)
class TrainingOverhead:
    """Measured overhead of the monitor."""

    plan: OverheadPlan
    """Trainings."""
    device: str
    """Name of the device."""
    plain_s: float
    """Time of an iteration without measurements in seconds."""
    exhaustive_s: float
    """Time of an iteration with measurements of every layer in seconds."""
    monitored_s: float
    """Time of an iteration with the monitor in seconds."""
    share_measured: float
    """Share of possible measurements that the monitored training makes."""
    layers: Mapping[str, LayerLog]
    """Logs of the monitored training's layers, by name."""

    @property
    def exhaustive(self) -> float:
        """Overhead of measuring in every iteration, as a share of the time without the monitor."""
        return self.exhaustive_s / self.plain_s - 1.0

    @property
    def monitored(self) -> float:
        """Overhead of this training's monitor, its decisions included, as a share of the time without it."""
        return self.monitored_s / self.plain_s - 1.0

    @property
    def modelled(self) -> float:
        """Overhead that the cost of a measurement and the share measured give for this training."""
        return monitored_overhead(self.exhaustive, self.share_measured)

    def estimate_overhead(self, iterations: int, settings: MonitorSpec | None = None) -> float:
        """Return the overhead that the cost of a measurement gives for a longer training of stable sparsity."""
        return monitored_overhead(self.exhaustive, expected_share(iterations, settings))


class _Training:
    """One of the three trainings: a network, its optimizer and its monitor, and the time of its iterations."""

    def __init__(
        self, torch: Any, plan: OverheadPlan, device: Any, monitor: Callable[[Any], AttachedMonitor] | None
    ) -> None:
        torch.manual_seed(plan.seed)
        self._torch, self._device = torch, device
        image, classes = (LARGE, LARGE_CLASSES) if plan.model in ON_PHOTOGRAPHS else (SMALL, SMALL_CLASSES)
        self._network = (
            importlib.import_module("gpusim.lab.capture.models").build(plan.model, classes).to(device).train()
        )
        self._optimizer = torch.optim.SGD(self._network.parameters(), lr=LEARNING_RATE, momentum=0.9)
        self._images = torch.randn(BATCHES, plan.batch, *image, device=device)
        self._labels = torch.randint(classes, (BATCHES, plan.batch), device=device)
        self._done, self.seconds = 0, 0.0
        self.monitor: AttachedMonitor | None = None
        for _ in range(WARM_UP_ITERATIONS):
            self._iteration()
        if monitor is not None:
            self.monitor = monitor(self._network)

    def run(self, iterations: int) -> None:
        self._wait()
        start = time.perf_counter()
        for _ in range(iterations):
            self._iteration()
        self._wait()
        self.seconds += time.perf_counter() - start

    def _iteration(self) -> None:
        batch = self._done % BATCHES
        loss = self._torch.nn.functional.cross_entropy(self._network(self._images[batch]), self._labels[batch])
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        self._done += 1
        if self.monitor is not None:
            self.monitor.step()

    def _wait(self) -> None:
        if self._device.type == "cuda":
            self._torch.cuda.synchronize(self._device)


def measure_overhead(
    plan: OverheadPlan, settings: MonitorSpec | None = None, report: Callable[[str], None] = lambda line: None
) -> TrainingOverhead:
    """Run the three trainings and time them.

    Args:
        plan: Network, data and iterations.
        settings: Settings of the monitor; None: the default ones.
        report: Called with a line after each part.

    Raises:
        UserError: An extra is missing, or a device cannot be used.
    """
    torch = require_torch("monitor --train")
    device = training_device(torch, plan.device)

    def attached(network: Any, exhaustive: bool = False) -> AttachedMonitor:
        # what a sparse layer computes is no part of the overhead: it runs as the dense one does
        return AttachedMonitor(network, settings, place=plan.place, exhaustive=exhaustive, sparse_forward=dense_forward)

    trainings = {
        "plain": (_Training(torch, plan, device, None), plan.iterations),
        "exhaustive": (
            _Training(torch, plan, device, lambda n: attached(n, exhaustive=True)),
            plan.exhaustive_iterations,
        ),
        "monitored": (_Training(torch, plan, device, attached), plan.iterations),
    }
    for part in range(plan.parts):
        for name, (training, iterations) in trainings.items():
            training.run((part + 1) * iterations // plan.parts - part * iterations // plan.parts)
            done = (part + 1) * iterations // plan.parts
            report(f"{name}: {done}/{iterations} iterations, {FIXED_3(1e3 * training.seconds / done)} ms each")
    plain, exhaustive, monitored = (training.seconds / count for training, count in trainings.values())
    monitor = trainings["monitored"][0].monitor
    assert monitor is not None
    shown = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    return TrainingOverhead(
        plan=plan,
        device=shown,
        plain_s=plain,
        exhaustive_s=exhaustive,
        monitored_s=monitored,
        share_measured=monitor.share_measured,
        layers=monitor.layers,
    )

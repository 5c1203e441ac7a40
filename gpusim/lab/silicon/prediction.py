"""The simulated result of a measured point, and the conditions under which a table's points are run."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import AUTO
from gpusim.lab.silicon.measured import GeneralSpec, MeasuredPoint, MeasuredTable, ProductPoint
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.sampling.spec import SamplingSpec
from workloads.vendor.tensile import takes_pointers

if TYPE_CHECKING:
    from gpusim.model.core.facts import RunFacts
    from isa.launch import Launch

MEMORY_MIB = 16384  # whatever the card has: a table may hold products that were measured in parts
WHOLE, SAMPLED, EXTRAPOLATED = "whole", "sampled", "extrapolated"


@dataclass(frozen=True)
class Prediction:
    """Simulated result of a measured point."""

    point: MeasuredPoint
    """Measured point."""
    time_us: float
    """Time of its kernels in microseconds, at the clock of the table."""
    first_us: float | None
    """Time with empty caches in microseconds; None: unknown."""
    launches: int
    """Number of kernels in a call."""
    workgroups: int
    """Number of workgroups of the product."""
    bound: str
    """Name of the largest roofline bound."""
    utilization: float
    """Largest roofline bound over the simulated cycles."""
    simulated: float
    """Share of the instructions that was simulated."""
    half_width_us: float | None = 0.0
    """Half-width of `time_us` in microseconds; 0: simulated whole; None: extrapolated by an earlier version."""
    facts: "RunFacts | None" = None
    """Facts of the launches as one; None: read from a file."""
    im2col_us: float | None = None
    """Time of the kernels that move images, a part of `time_us`, in microseconds; None: no such kernels."""
    by: str = ""
    """Selected algorithm of a convolution that is computed by ours; empty: a library's solver."""

    @classmethod
    def of(
        cls, point: MeasuredPoint, call: "Sequence[RunFacts]", longest: "RunFacts", workgroups: int,
        first_us: float | None = None, launches: int | None = None, im2col_us: float | None = None, by: str = "",
    ) -> "Prediction":  # fmt: skip
        """Make a prediction of the facts of a call. longest: of its launches, the one whose bound is told."""
        from gpusim.model.core.facts import combined

        bounds = {name: cycles for name, cycles in longest.roofline.items() if name != "latency"}
        bound = max(bounds, key=lambda name: bounds[name])
        share = bounds[bound] / longest.kernel.cycles
        facts = combined(list(call))
        simulated, half_width_us = 1.0, 0.0
        if facts.sampling is not None and facts.sampling.doubts:
            simulated = facts.sampling.fraction
            half_width_us = facts.sampling.half_width("kernel", "cycles") / (facts.kernel.clock_ghz * 1e3)
        return cls(
            point=point,
            time_us=call_us(call),
            first_us=first_us,
            launches=len(call) if launches is None else launches,
            workgroups=workgroups,
            bound=bound,
            utilization=share,
            simulated=simulated,
            half_width_us=half_width_us,
            facts=facts,
            im2col_us=im2col_us,
            by=by,
        )

    @property
    def how(self) -> str:
        """How the time was found: WHOLE, SAMPLED or EXTRAPOLATED."""
        if self.half_width_us is None:
            return EXTRAPOLATED
        return WHOLE if self.simulated >= 1.0 else SAMPLED


@dataclass(frozen=True)
class Conditions:
    """Conditions under which all points of a table are run."""

    gpu: GpuSpec
    """GPU at the clock of the measurement."""
    alpha: float
    """Factor of A·B."""
    beta: float
    """Factor of C."""
    warm_below_gflop: float
    """Size in GFLOP below which a point is run twice and the second call counts."""
    limit_gflop: float
    """Size in GFLOP above which products are sampled."""
    sampling: SamplingSpec | None
    """Sampling of large products; None: all are simulated whole."""
    staggered: str = "none"
    """'none', 'pointers' or 'all': products whose workgroups start at different positions along K."""
    general: GeneralSpec = field(default_factory=GeneralSpec)
    """GPU and clock of general batched products, where they differ."""
    convolution: str = AUTO
    """Algorithm of convolutions."""
    invalidated: bool = False
    """L2 is written back and emptied between calls, in no call's time."""

    @classmethod
    def of(cls, table: MeasuredTable, limit_gflop: float, sampling: SamplingSpec | None) -> "Conditions":
        """Take the conditions from a table: its GPU at the clock at which it was measured."""
        gpu = table.gpu if table.clock_ghz is None else replaced(table.gpu, "clock_ghz", table.clock_ghz)
        return cls(
            gpu=gpu,
            alpha=table.alpha,
            beta=table.beta,
            warm_below_gflop=table.warm_below_gflop,
            limit_gflop=limit_gflop,
            sampling=sampling,
            staggered=table.staggered,
            general=table.general,
            convolution=table.convolution,
            invalidated=table.invalidated,
        )

    def changed(self, path: str, value: Any) -> "Conditions":
        """Return the same conditions with one value of the GPUs' configurations changed; of general batches' own GPU
        its clock is not. Raise UserError.
        """
        own = self.general.gpu
        if own is not None and path != "clock_ghz":
            own = replaced(own, path, value)
        general = self.general.model_copy(update={"gpu": own})
        return replace(self, gpu=replaced(self.gpu, path, value), general=general)

    def get_gpu(self, point: ProductPoint) -> GpuSpec:
        """Return the GPU on which the point was measured, at the clock that it had."""
        general = self.general if takes_pointers(point.kernel) else GeneralSpec()
        gpu = self.gpu if general.gpu is None else general.gpu
        return gpu if general.clock_ghz is None else replaced(gpu, "clock_ghz", general.clock_ghz)

    def get_sampling(self, point: MeasuredPoint) -> SamplingSpec | None:
        """Return how the point is sampled; None: it is run whole."""
        return self.sampling if point.gflop > self.limit_gflop else None

    def calls(self, point: MeasuredPoint) -> int:
        """Return how often the point is run: the last call counts."""
        return 2 if point.gflop < self.warm_below_gflop else 1


def replaced(gpu: GpuSpec, path: str, value: Any) -> GpuSpec:
    """Return the GPU with one value of its configuration changed, such as `l2.channels`; raises UserError."""
    from gpusim.config.gpu import load_gpu

    return load_gpu(gpu.model_dump(mode="json"), {path: value})


def run_warm(
    launches: "Sequence[Launch]",
    name: str,
    gpu: GpuSpec,
    sampling: SamplingSpec | None,
    calls: int = 1,
    invalidated: bool = False,
) -> "list[RunFacts]":
    """Return the facts of launches that run one after another; each finds in caches what those before it left.

    Args:
        launches: Launches of a call.
        name: Name of the record.
        gpu: GPU on which they run.
        sampling: Sampling of launches; None: simulated whole.
        calls: Number of calls.
        invalidated: L2 is written back and emptied between calls, in no call's time.

    Returns:
        The facts, call after call.
    """
    from gpusim.jobs.host.command_processor import CommandProcessor, RunOptions
    from gpusim.jobs.running.operators import operator_command
    from gpusim.results.records.record import RunRecord

    record = RunRecord(False, name, [])
    # no kernel's time depends on what another one has computed
    commands = [operator_command(launch, decisive=False)._replace(warm=True) for launch in launches]
    processor = CommandProcessor(gpu, Reporter(quiet=True))
    for call in range(calls):
        if call and invalidated:
            processor.flush_l2()
        processor.run(commands, record, RunOptions(sampling=sampling))
    return record.launches


def call_us(call: "Sequence[RunFacts]") -> float:
    """Return the time of a call's launches."""
    return plain_sum(facts.time_us for facts in call)

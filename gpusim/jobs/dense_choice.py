"""The dense kernel of a matrix product by its shape: `kernels.dense: auto`.

Where estimates decide, nothing is simulated. Otherwise each kernel that may be the fastest is: alone, sampled where
that saves something, over zeros, which cost what other values do; and no further than the fastest one before it took.
"""

from collections.abc import Callable, Mapping

from gpusim.base.progress import Progress, Reporter
from gpusim.core.gpu_spec import GpuSpec
from gpusim.host.command_processor import CommandProcessor, LaunchCommand, RunOptions
from gpusim.jobs.operators import gpu_facts
from gpusim.results.record import KernelChoice, RunRecord
from gpusim.sampling.spec import SamplingSpec
from isa.device_memory import DeviceMemory, DeviceMemoryError
from workloads.operators.gemm import GemmBuffers, gemm
from workloads.operators.gemm_estimates import estimates, in_question
from workloads.shapes import GemmShape

ERROR = 0.01  # of what is sampled: the choice is then within 2 % of the best
Choices = Mapping[tuple[GemmShape, str], KernelChoice]  # by shape, and a GPU as JSON
# of this process: points of a sweep and variants of a run ask for the same product again
_known: dict[tuple[GemmShape, str], KernelChoice] = {}


def known_choices() -> Choices:
    """What has been chosen so far, or been told."""
    return dict(_known)


def tell_choices(choices: Choices) -> None:
    """What another process of this simulator has chosen need not be chosen again."""
    _known.update(choices)


def likely_dense(shape: GemmShape, gpu: GpuSpec) -> str:
    """The kernel that is the fastest by its estimate alone."""
    found = in_question(estimates(shape, gpu_facts(gpu)))
    return min(found, key=lambda one: (one.most, one.least)).kernel


def choose_dense(
    shape: GemmShape, gpu: GpuSpec, reporter: Reporter, stopped: Callable[[], bool] = lambda: False
) -> KernelChoice:
    """The fastest dense kernel for a shape, of those whose operands and workspace the GPU's memory holds.

    Raises DeviceMemoryError where it holds none's, KeyboardInterrupt once `stopped()`, and what a launch raises.
    """
    key = (shape, gpu.model_dump_json())
    if key not in _known:
        _known[key] = _chosen(shape, gpu, reporter, stopped)
    return _known[key]


def _chosen(shape: GemmShape, gpu: GpuSpec, reporter: Reporter, stopped: Callable[[], bool]) -> KernelChoice:
    found = estimates(shape, gpu_facts(gpu))
    asked = in_question(found)
    if len(asked) == 1:
        return KernelChoice(asked[0].kernel, {}, {one.kernel: int(one.least) for one in found if one not in asked})
    reporter.say(f"choosing the dense kernel for {shape.m} x {shape.n} x {shape.k}: measuring")
    measured: dict[str, int] = {}
    too_large: DeviceMemoryError | None = None
    at_least = {one.kernel: int(one.least) for one in found if one not in asked}
    for one in asked:
        best = min(measured.values(), default=None)
        if best is not None and one.least >= best:
            at_least[one.kernel] = int(one.least)
            continue
        try:
            cycles = cycles_of(one.kernel, shape, gpu, SamplingSpec(error=ERROR), best, stopped)
        except DeviceMemoryError as error:  # of sums in parts, which others do without
            too_large = error
            continue
        if cycles is None:
            at_least[one.kernel] = best or 0
        else:
            measured[one.kernel] = cycles
    if too_large is not None and not measured:
        raise too_large
    in_order = dict(sorted(measured.items(), key=lambda item: item[1]))
    return KernelChoice(next(iter(in_order)), in_order, at_least)


def cycles_of(
    kernel: str,
    shape: GemmShape,
    gpu: GpuSpec,
    sampling: SamplingSpec | None = None,
    most: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> int | None:
    """A dense kernel's cycles for a product of zeros, all launches; None where they are more than `most`."""
    operator = gemm(kernel, GemmBuffers.allocate(shape, DeviceMemory(gpu.memory_mib << 20)), gpu_facts(gpu))
    record = RunRecord(False, kernel, [])

    def observe(progress: Progress) -> bool:
        spent = progress.cycles + sum(facts.cycles for facts in record.launches)
        return not stopped() and (most is None or spent <= most)

    processor = CommandProcessor(gpu, Reporter(quiet=True))
    commands, options = [LaunchCommand(launch) for launch in operator.launches], RunOptions(sampling=sampling)
    processor.run(commands, record, options, observe, stopped)
    if stopped():
        raise KeyboardInterrupt
    return None if record.partial else sum(facts.cycles for facts in record.launches)

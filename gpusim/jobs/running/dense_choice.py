"""The dense kernel of a matrix product by its shape: `kernels.dense: auto`.

Where estimates do not decide (gpusim.jobs.running.choice), kernels are measured: alone, sampled where that saves
something, over zeros, which cost what other values do.
"""

from collections.abc import Callable, Mapping

from gpusim.base.progress import Progress, Reporter
from gpusim.jobs.host.command_processor import CommandProcessor, RunOptions
from gpusim.jobs.running.choice import Candidate, Measured, MeasurementRequest, choose, find_contenders, likeliest
from gpusim.jobs.running.operators import gpu_facts, launch_commands
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.records.record import KernelChoice, RunRecord
from isa.device_memory import DeviceMemory, DeviceMemoryError
from workloads.operators.gemm import GemmBuffers, gemm
from workloads.operators.gemm_estimates import estimates
from workloads.operators.operator import GpuFacts
from workloads.shapes import GemmShape

ERROR = 0.01  # relative, of sampled launches: the choice is then within 2 % of the best
Choices = Mapping[tuple[GemmShape, str], KernelChoice]  # by shape, and a GPU as JSON
# of this process: points of a sweep and variants of a run ask for the same product again
_known: dict[tuple[GemmShape, str], KernelChoice] = {}


def known_choices() -> Choices:
    """Return the choices made so far, including those of `add_choices`."""
    return dict(_known)


def add_choices(choices: Choices) -> None:
    """Add the choices of another process of this simulator, so that they need not be made again."""
    _known.update(choices)


def likely_dense(shape: GemmShape, gpu: GpuSpec) -> str:
    """Return the name of the kernel that is the fastest by its estimate alone.

    Args:
        shape: of the product.
        gpu: the GPU.

    Returns:
        A name of GEMM_KERNELS.
    """
    return likeliest(dense_candidates(shape, gpu_facts(gpu))).name


def dense_candidates(shape: GemmShape, gpu: GpuFacts) -> list[Candidate]:
    """Return the dense kernels with the cycles of their estimates."""
    return [Candidate(one.kernel, one.least, one.most) for one in estimates(shape, gpu)]


def choose_dense(
    shape: GemmShape, gpu: GpuSpec, reporter: Reporter, stopped: Callable[[], bool] = lambda: False
) -> KernelChoice:
    """Choose the fastest dense kernel for a shape, of those whose operands and workspace fit the GPU's memory.

    Args:
        shape: of the product.
        gpu: the GPU.
        reporter: notified of progress.
        stopped: whether the run was interrupted.

    Returns:
        The choice and its reasons.

    Raises:
        DeviceMemoryError: none fits.
        KeyboardInterrupt: `stopped()` returned True.
    """
    key = (shape, gpu.model_dump_json())
    if key not in _known:
        _known[key] = _chosen(shape, gpu, reporter, stopped)
    return _known[key]


def _chosen(shape: GemmShape, gpu: GpuSpec, reporter: Reporter, stopped: Callable[[], bool]) -> KernelChoice:
    candidates = dense_candidates(shape, gpu_facts(gpu))
    too_large: list[DeviceMemoryError] = []

    def measure(asked: MeasurementRequest) -> Measured:
        try:
            return measure_cycles(asked.name, shape, gpu, SamplingSpec(error=ERROR), asked.most, stopped)
        except DeviceMemoryError as error:  # of sums in parts, which others do without
            too_large.append(error)
            return float("inf")

    if len(find_contenders(candidates)) > 1:
        reporter.say(f"choosing the dense kernel for {shape.m} x {shape.n} x {shape.k}: measuring")
    choice = choose(candidates, measure)
    if too_large and not choice.cycles:
        raise too_large[-1]
    return choice


def measure_cycles(
    kernel: str,
    shape: GemmShape,
    gpu: GpuSpec,
    sampling: SamplingSpec | None = None,
    most: float = float("inf"),
    stopped: Callable[[], bool] = lambda: False,
) -> int | None:
    """Measure a dense kernel's cycles for a product of zeros, all launches; None where they are more than `most`."""
    memory = DeviceMemory(gpu.memory_mib << 20, architecture=gpu.architecture)
    operator = gemm(kernel, GemmBuffers.allocate(shape, memory), gpu_facts(gpu))
    record = RunRecord(False, kernel, [])

    def observe(progress: Progress) -> bool:
        return not stopped() and progress.cycles + sum(facts.cycles for facts in record.launches) <= most

    processor = CommandProcessor(gpu, Reporter(quiet=True))
    processor.run(launch_commands(operator), record, RunOptions(sampling=sampling), observe, stopped)
    if stopped():
        raise KeyboardInterrupt
    return None if record.partial else sum(facts.cycles for facts in record.launches)

"""Measured convolutions on the model: MIOpen's solver of rocBLAS's products, or our fastest algorithm.

MIOpen times a product twice, of which the second time counts (ROCm/MIOpen, CallGemmTimeMeasure: "a warm-up call"), and
what moves images before and behind it once; so they are launched here. With im2col or col2im that is done for an image,
with 1 x 1 filters for the whole batch. Products are by rocBLAS's kernels, what moves images is ours. The gradient of
the weights is added to what is there (beta = 1).

Ours is a network of one layer with the measured batch, whose algorithm is chosen as `gpusim net` chooses it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.lab.silicon.measured_convolutions import IN_ONE, IN_TURN, SIDE_BY_SIDE, ConvolutionPoint
from gpusim.lab.silicon.prediction import MEMORY_MIB, Conditions, Prediction, run_warm
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from isa.kernarg import Pointer
from workloads.operators.conv_buffer import MAX_BYTES
from workloads.operators.conv_im2col import Im2colBackwardData, Im2colBackwardWeights, Im2colForward
from workloads.operators.conv_im2col_chunked import Im2colChunkedBackwardData, Im2colChunkedForward
from workloads.operators.conv_passes import ConvolutionPass
from workloads.operators.convolution import Convolution
from workloads.operators.tiles import Multiplier

if TYPE_CHECKING:
    from isa.device_memory import DeviceMemory
    from isa.launch import Launch
    from isa.object.code_object import Kernel

LAYER = "layer"
MACS_OF_INSTRUCTION = 60  # of a wavefront, in products of whole tiles
# kernels that move images: im2col and back, of one image and of all
_MOVES = ("im2col", "col2im", "im2col_images", "col2im_images", "to_wide", "from_wide")
_BY_IMAGE: Mapping[str, Callable[[Convolution, Multiplier], ConvolutionPass]] = {
    "F": lambda convolution, by: Im2colForward(convolution, by=by),
    "B": lambda convolution, by: Im2colBackwardData(convolution, by=by),
    "W": lambda convolution, by: Im2colBackwardWeights(convolution, by=by),
}
_SIDE_BY_SIDE: Mapping[str, Callable[[Convolution, Multiplier], ConvolutionPass]] = {
    "F": lambda c, by: Im2colChunkedForward(c, buffer_bytes=MAX_BYTES, by=by, padded=False),
    "B": lambda c, by: Im2colChunkedBackwardData(c, buffer_bytes=MAX_BYTES, by=by, padded=False),
}


@dataclass(frozen=True)
class TensileMultiplier:
    """Products of layers' tensors by a kernel of rocBLAS (workloads.operators.tiles.Multiplier)."""

    name: str
    """Name of the kernel."""
    kernels: "Mapping[str, Kernel]"
    """Kernels of the code objects by name."""
    adds: bool
    """Always add results to the contents of C (beta = 1)."""
    staggered: bool
    """Workgroups start at different positions along K."""

    def launches(
        self, layout: str, operands: tuple[Pointer, Pointer, Pointer], memory: "DeviceMemory",
        sizes: tuple[int, int, int], leading: tuple[int, int, int], add: bool,
    ) -> "tuple[Launch, ...]":  # fmt: skip
        """Return the launches of C = A·B, or C += A·B; raises TensileError, and UserError for operands with gaps."""
        from workloads.vendor.tensile import TensileGemm, TensileKernel, TensileProblem

        beta = 1.0 if add or self.adds else 0.0
        problem = TensileProblem(layout.upper(), *sizes, 1.0, beta, staggered=self.staggered)
        if leading != (problem.lda, problem.ldb, problem.m):
            raise UserError(f"kernel '{self.name}': is launched over matrices without gaps between columns")
        kernel = TensileKernel.named(self.name)
        if kernel.transposes != problem.transposes:
            raise UserError(f"kernel '{self.name}': multiplies {kernel.transposes}, not {problem.transposes}")
        addresses = (operand.address for operand in operands)
        return TensileGemm(problem, kernel, self.kernels, memory, *addresses).launches


@dataclass(frozen=True)
class SolverLaunches:
    """Launches of a convolution by a solver."""

    before: "tuple[Launch, ...]"
    """Launches that move images before the product."""
    warm_up: "tuple[Launch, ...]"
    """A first product, which warms the caches and does not count."""
    product: "tuple[Launch, ...]"
    """The product that counts."""
    after: "tuple[Launch, ...]" = ()
    """Launches that move images after the product."""
    times: int = 1
    """Number of products in a call, each over another image."""
    gap_us: float = 0.0
    """Time between two products in microseconds."""

    @property
    def in_order(self) -> "tuple[Launch, ...]":
        """The launches as they are timed."""
        return (*self.before, *self.warm_up, *self.product, *self.after)

    def calls(self, facts: list[RunFacts]) -> tuple[list[RunFacts], list[RunFacts]]:
        """Return, of the facts of `in_order`, those of what moves images and those of the product that counts."""
        first = len(self.before) + len(self.warm_up)
        last = first + len(self.product)
        return facts[: len(self.before)] + facts[last:], facts[first:last]

    def time_us(self, moved: list[RunFacts], product: list[RunFacts]) -> float:
        """Return the time of a call."""
        of_product, gaps_us = plain_sum(facts.time_us for facts in product), (self.times - 1) * self.gap_us
        return plain_sum(facts.time_us for facts in moved) + self.times * of_product + gaps_us


def timed(point: ConvolutionPoint, conditions: Conditions, kernels: "Mapping[str, Kernel]") -> SolverLaunches:
    """Lay a solver's operands into memory and return its launches; raises UserError."""
    from gpusim.jobs.running.operators import gpu_facts
    from isa.device_memory import DeviceMemory
    from workloads.operators.primitive import build
    from workloads.vendor.tensile import TensileKernel, TensileProblem

    if not point.kernel:
        raise UserError(f"kernels.chosen: has no {point.product[0]} product to take a kernel from")
    gpu, staggered = conditions.gpu, conditions.staggered == "all"
    memory = DeviceMemory(MEMORY_MIB << 20, architecture=gpu.architecture)
    if point.solver in IN_ONE:
        transposes, m, n, k, batch = point.product
        problem = TensileProblem(
            transposes=transposes,
            m=m,
            n=n,
            k=k,
            alpha=1.0,
            beta=0.0,
            batch=batch,
            staggered=staggered,
            compute_units=gpu.cus,
            one_b=True,
        )
        product = TensileKernel.named(point.kernel).launches(problem, kernels, memory)
        return SolverLaunches((), product, product)
    by = TensileMultiplier(point.kernel, kernels, point.direction == "W", staggered)
    if point.solver in IN_TURN:
        return _in_turn(point.convolution, by, memory, gpu)
    made = _SIDE_BY_SIDE if point.solver in SIDE_BY_SIDE else _BY_IMAGE
    launches = build(made[point.direction](point.convolution, by), memory, gpu_facts(gpu)).launches
    first, *others = (number for number, launch in enumerate(launches) if launch.kernel.name not in _MOVES)
    end = first + len(others) + 1
    return SolverLaunches(launches[:first], launches[first:end], launches[first:end], launches[end:])


def _in_turn(c: Convolution, by: TensileMultiplier, memory: "DeviceMemory", gpu: GpuSpec) -> SolverLaunches:
    """Return the launches of a product for each image, of which no two are simulated but the first."""
    from gpusim.jobs.running.operators import gpu_facts
    from workloads.operators.primitive import build

    images = c.shape[0]
    two = replace(c, shape=(min(images, 2), *c.shape[1:]))
    launches = build(Im2colBackwardWeights(two, by=by), memory, gpu_facts(gpu)).launches
    each = len(launches) // two.shape[0]
    return SolverLaunches((), launches[:each], launches[-each:], times=images, gap_us=gpu.kernel_launch_us)


def predict_same(point: ConvolutionPoint, conditions: Conditions, kernels: "Mapping[str, Kernel]") -> Prediction:
    """Run the solver that was measured."""
    made = timed(point, conditions, kernels)
    found = run_warm(made.in_order, point.kernel, conditions.gpu, conditions.get_sampling(point))
    moved, product = made.calls(found)
    workgroups = prod(made.product[-1].workgroups)
    moved_us = plain_sum(facts.time_us for facts in moved)
    one = Prediction.of(point, [*moved, *product], product[-1], workgroups, im2col_us=moved_us)
    width_us = None if one.half_width_us is None else made.times * one.half_width_us
    return replace(one, time_us=made.time_us(moved, product), half_width_us=width_us)


def predict_own(point: ConvolutionPoint, conditions: Conditions) -> Prediction:
    """Run a pass by our fastest algorithm, with the measured batch."""
    from gpusim.config.network import load_network
    from gpusim.config.network_run import AUTO, NetworkSettings
    from gpusim.jobs.networks.choice import choose
    from gpusim.jobs.networks.run import NetworkRunRequest, run_iteration

    network = load_network(_network(point.convolution))
    settings = NetworkSettings(
        gpu=conditions.gpu, convolution=conditions.convolution, sampling=conditions.get_sampling(point)
    )
    place = (LAYER, point.what)
    wanted = NetworkRunRequest(
        batch=point.convolution.shape[0], train=True, data="synthetic", verify=False, places=frozenset([place])
    )
    reporter, interrupt = Reporter(quiet=True), Interrupt()
    chosen = choose(network, settings, wanted, reporter, interrupt)
    if conditions.convolution == AUTO and place not in chosen.by_step:
        raise KeyboardInterrupt  # which the choice has taken: nothing is chosen then
    record = run_iteration(network, settings, wanted, reporter, interrupt, known=chosen.exact, chosen=chosen.by_step)
    if record.stopped_by:
        raise KeyboardInterrupt
    (step,) = (step for step in record.steps if (step.step.layer, step.step.what) == place)
    assert step.facts is not None
    longest = max((record.of_class[one] for one in step.classes), key=lambda facts: facts.cycles)
    by = chosen.by_step.get(place, conditions.convolution)
    groups = longest.kernel.workgroups
    return Prediction.of(point, [step.facts], longest, groups, by=by, launches=len(step.classes))


def _network(c: Convolution) -> dict[str, object]:
    """Return a network of the one layer, as its file would be."""
    sizes = {name: list(getattr(c, name)) for name in ("kernel", "stride", "padding", "dilation")}
    layer = {"name": LAYER, "kind": "convolution", "filters": c.filters, "bias": False, **sizes}
    return {"name": "convolution", "input": list(c.shape[1:]), "input_gradients": True, "layers": [layer]}


def own_effort(point: ConvolutionPoint, gpu: GpuSpec) -> float:
    """Estimate the wavefront instructions of measuring our algorithms in turn, of which bounds leave about two."""
    from gpusim.jobs.networks.choice import MOST_EFFORT

    return min(2 * point.convolution.macs / MACS_OF_INSTRUCTION, MOST_EFFORT)

"""Measured convolutions on the model: MIOpen's solver of im2col and a product of rocBLAS, or our fastest algorithm.

MIOpen times the first by an image's kernels, one after another, the product twice, of which the second time counts
(ROCm/MIOpen, CallGemmTimeMeasure: "a warm-up call"); so it is launched here. im2col and col2im are ours, the product's
kernel is rocBLAS's. The gradient of the weights is added to what is there (beta = 1).

Ours is a network of one layer with the measured batch, whose algorithm is chosen as `gpusim net` chooses it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.config.measured_convolutions import ConvolutionPoint, product_of
from gpusim.core.facts import RunFacts
from gpusim.core.gpu_spec import GpuSpec
from isa.kernarg import Pointer
from workloads.operators.conv_im2col import Im2colBackwardData, Im2colBackwardWeights, Im2colForward
from workloads.operators.conv_passes import ConvolutionPass
from workloads.operators.convolution import Convolution
from workloads.operators.tiles import Multiplier

if TYPE_CHECKING:
    from gpusim.correlation.predict import Conditions, Prediction
    from isa.device_memory import DeviceMemory
    from isa.launch import Launch
    from isa.object.code_object import Kernel

LAYER = "layer"
_BY_IMAGE: Mapping[str, Callable[[Convolution, Multiplier], ConvolutionPass]] = {
    "F": lambda convolution, by: Im2colForward(convolution, by=by),
    "B": lambda convolution, by: Im2colBackwardData(convolution, by=by),
    "W": lambda convolution, by: Im2colBackwardWeights(convolution, by=by),
}


@dataclass(frozen=True)
class TensileMultiplier:
    """Products of layers' tensors by a kernel of rocBLAS (workloads.operators.tiles.Multiplier). name: the kernel's;
    adds: whether results are added to what is there, whoever asks; staggered: as of GemmProblem."""

    name: str
    kernels: "Mapping[str, Kernel]"
    adds: bool
    staggered: bool

    def launches(
        self, layout: str, operands: tuple[Pointer, Pointer, Pointer], memory: "DeviceMemory",
        sizes: tuple[int, int, int], leading: tuple[int, int, int], add: bool,
    ) -> "tuple[Launch, ...]":  # fmt: skip
        """Return the launches of C = A·B, or C += A·B; raises TensileError, and UserError for operands with gaps."""
        from workloads.vendor.tensile import GemmProblem, TensileGemm, TensileKernel

        beta = 1.0 if add or self.adds else 0.0
        problem = GemmProblem(layout.upper(), *sizes, 1.0, beta, staggered=self.staggered)
        if leading != (problem.lda, problem.ldb, problem.m):
            raise UserError(f"kernel '{self.name}': is launched over matrices without gaps between columns")
        kernel = TensileKernel.named(self.name)
        if kernel.transposes != problem.transposes:
            raise UserError(f"kernel '{self.name}': multiplies {kernel.transposes}, not {problem.transposes}")
        addresses = (operand.address for operand in operands)
        return TensileGemm(problem, kernel, self.kernels, memory, *addresses).launches


@dataclass(frozen=True)
class ByImage:
    """The launches of an image. moved: im2col or col2im; product: of rocBLAS, which comes after im2col and before
    col2im."""

    moved: "tuple[Launch, ...]"
    product: "tuple[Launch, ...]"
    before: bool

    @property
    def in_order(self) -> "tuple[Launch, ...]":
        """The launches as they are timed: the product twice."""
        products = (*self.product, *self.product)
        return (*self.moved, *products) if self.before else (*products, *self.moved)

    def calls(self, facts: list[RunFacts]) -> tuple[list[RunFacts], list[RunFacts]]:
        """Return, of the facts of `in_order`, those of im2col or col2im and those of the second product."""
        held, products = len(self.moved), len(self.product)
        if self.before:
            return facts[:held], facts[held + products :]
        return facts[2 * products :], facts[products : 2 * products]


def by_image(point: ConvolutionPoint, conditions: "Conditions", kernels: "Mapping[str, Kernel]") -> ByImage:
    """Lay an image's operands into memory and return its launches; raises UserError."""
    from gpusim.correlation.predict import MEMORY_MIB
    from gpusim.running.operators import gpu_facts
    from isa.device_memory import DeviceMemory
    from workloads.operators.primitive import build

    if not point.kernel:
        transposes = product_of(point.convolution, point.direction)[0]
        raise UserError(f"kernels.chosen: has no {transposes} product to take a kernel from")
    gpu = conditions.gpu
    by = TensileMultiplier(point.kernel, kernels, point.direction == "W", conditions.staggered == "all")
    memory = DeviceMemory(MEMORY_MIB << 20, architecture=gpu.architecture)
    operator = build(_BY_IMAGE[point.direction](point.convolution, by), memory, gpu_facts(gpu))
    own = [launch.kernel.name in ("im2col", "col2im") for launch in operator.launches]
    moved = tuple(launch for launch, is_own in zip(operator.launches, own, strict=True) if is_own)
    product = tuple(launch for launch, is_own in zip(operator.launches, own, strict=True) if not is_own)
    return ByImage(moved, product, point.direction != "B")


def predict_by_image(
    point: ConvolutionPoint, conditions: "Conditions", kernels: "Mapping[str, Kernel]"
) -> "Prediction":
    """Run an image's im2col or col2im and product."""
    from gpusim.correlation.predict import Prediction, run_warm

    made = by_image(point, conditions, kernels)
    found = run_warm(made.in_order, point.kernel, conditions.gpu, conditions.sampling_of(point))
    moved, product = made.calls(found)
    call = [*moved, *product]
    workgroups = prod(made.product[-1].workgroups)
    moved_us = plain_sum(facts.time_us for facts in moved)
    return Prediction.of(point, call, product[-1], workgroups, im2col_us=moved_us)


def predict_own(point: ConvolutionPoint, conditions: "Conditions") -> "Prediction":
    """Run a pass by our fastest algorithm, with the measured batch."""
    from gpusim.config.network import load_network
    from gpusim.config.network_run import AUTO, NetworkSettings
    from gpusim.correlation.predict import Prediction
    from gpusim.networks.choice import choose
    from gpusim.networks.run import Wanted, run_iteration

    network = load_network(_network(point.convolution))
    settings = NetworkSettings(
        gpu=conditions.gpu, convolution=conditions.convolution, sampling=conditions.sampling_of(point)
    )
    place = (LAYER, point.what)
    wanted = Wanted(
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
    from gpusim.networks.choice import MACS_OF_INSTRUCTION, MOST_EFFORT

    return min(2 * point.convolution.macs / MACS_OF_INSTRUCTION, MOST_EFFORT)

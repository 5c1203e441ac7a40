"""Layers whose matrix consists of circulant blocks: a value for each of a block's columns in place of its square."""

from collections.abc import Sequence
from typing import ClassVar

from gpusim.base.spec import Spec, param
from workloads.circulant import (
    BASELINE,
    BLOCKS,
    DATA,
    FORWARD,
    FUSED,
    WEIGHTS,
    CirculantBlocks,
    Flow,
    Lanes,
    get_frequency_shape,
    left,
)
from workloads.networks.convolution import ConvolutionLayer
from workloads.networks.fully_connected import FullyConnectedLayer
from workloads.networks.kind import (
    Gemm,
    LayerKind,
    LayerTensors,
    Pass,
    PassSpec,
    SavedTensor,
    ShapeError,
    weighted_backward,
    weighted_forward,
)
from workloads.networks.tensor import Shape, elements

SOURCE = "Dong 2020, chapter 7"
FLOW_MEANING = (
    "baseline: figure 7.2a; optimised: 7.2b; o1, o2: with algorithm 6 or 7; o1_sum, o2_sum: with 8 too; fused: 9"
)
LANES_MEANING = "places that a workgroup has: source: as for warps of 32; wavefront: so that wavefronts of 64 are full"
_PRODUCTS = {Pass.FORWARD: FORWARD, Pass.BACKWARD_WEIGHTS: WEIGHTS, Pass.BACKWARD_DATA: DATA}


class _CirculantSpec(Spec):
    """What both kinds of layers say, and what passes read and write besides: kept frequencies."""

    block: int = param(..., f"values of a circulant block: {', '.join(map(str, BLOCKS))}", SOURCE)
    flow: Flow = param(FUSED, FLOW_MEANING, SOURCE)
    lanes: Lanes = param("source", LANES_MEANING, SOURCE)

    @property
    def keeps(self) -> bool:
        """Whether the forward pass keeps frequencies for the gradients."""
        return self.flow != BASELINE

    def checked(self, gemm: Gemm) -> None:
        """Raise ShapeError where the layer's matrix has no blocks of this size."""
        if problem := self.blocks(gemm).problem:
            raise ShapeError(problem)

    def blocks(self, gemm: Gemm, batch: int = 1) -> CirculantBlocks:
        """Return the blocks of the matrix, with the vectors of a batch."""
        return CirculantBlocks(gemm.n * batch, gemm.k, gemm.m, self.block)

    def with_blocks(self, gemm: Gemm, dense: LayerTensors) -> LayerTensors:
        """Return a dense layer's anatomy with weights [p, q, block], and the frequencies that are kept."""
        blocks = self.blocks(gemm)
        weights = (blocks.sizes["i"], blocks.sizes["j"], self.block)
        if not self.keeps:
            return LayerTensors({**dense.parameters, "weight": weights})
        of_image = {name: SavedTensor(blocks.shape(layout)) for name, layout in (("x", "bj"), ("dy", "bi"))}
        saved = {"weight_transform": SavedTensor(get_frequency_shape(blocks, self.flow, "ij"), per_image=False)}
        saved |= {f"{name}_transform": one for name, one in of_image.items()}
        return LayerTensors({**dense.parameters, "weight": weights}, saved=saved)

    def forward_pass(self, bias: bool, training: bool) -> PassSpec:
        """Return the forward pass."""
        plain = weighted_forward(bias)
        kept = ("weight_transform", "x_transform") if self.keeps and training else ()
        return PassSpec(plain.what, plain.reads, (*plain.writes, *kept))

    def backward_passes(self, bias: bool) -> tuple[PassSpec, ...]:
        """Return the gradients' passes; that of the weights makes the frequencies of dy for both."""
        weights, *biases, data = weighted_backward(bias)
        if not self.keeps:
            return weights, *biases, data
        return (
            PassSpec(weights.what, ("x_transform", "dy"), ("dweight", "dy_transform")),
            *biases,
            PassSpec(data.what, ("weight_transform", "dy_transform"), ("dx",)),
        )

    def left(self, what: Pass, gemm: Gemm, batch: int, training: bool, windows: bool) -> Shape:
        """Return the shape of all that a pass's launches leave for later ones."""
        if what not in _PRODUCTS:
            return (0,)
        blocks = self.blocks(gemm, batch)
        shapes = list(left(blocks, self.flow, _PRODUCTS[what], windows).values())
        if what is Pass.FORWARD and self.keeps and not training:
            shapes += [get_frequency_shape(blocks, self.flow, layout) for layout in ("ij", "bj")]
        return (sum(map(elements, shapes)),)


class BlockCirculantLayer(_CirculantSpec, FullyConnectedLayer):
    """A fully connected layer whose matrix consists of circulant blocks."""

    HALF: ClassVar = False

    def output(self, inputs: Sequence[Shape]) -> Shape:
        self.checked(self.gemm(inputs))
        return super().output(inputs)

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        return self.with_blocks(self.gemm(inputs), super().anatomy(inputs))

    def forward(self, training: bool) -> PassSpec:
        return self.forward_pass(self.bias, training)

    def backward(self) -> tuple[PassSpec, ...]:
        return self.backward_passes(self.bias)

    def workspace(self, what: Pass, inputs: Sequence[Shape], batch: int = 1, training: bool = False) -> Shape:
        return self.left(what, self.gemm(inputs), batch, training, windows=False)


class BlockCirculantConvolution(_CirculantSpec, ConvolutionLayer):
    """A convolution by im2col whose matrix of filters consists of circulant blocks."""

    def output(self, inputs: Sequence[Shape]) -> Shape:
        shape = super().output(inputs)
        if self.groups > 1:
            raise ShapeError(f"{self.groups} groups of channels: circulant blocks are those of a single group")
        self.checked(Gemm(self.filters, inputs[0][0] * self.kernel[0] * self.kernel[1], shape[1] * shape[2]))
        return shape

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        return self.with_blocks(self.gemm(inputs), super().anatomy(inputs))

    def forward(self, training: bool) -> PassSpec:
        return self.forward_pass(self.bias, training)

    def backward(self) -> tuple[PassSpec, ...]:
        return self.backward_passes(self.bias)

    def workspace(self, what: Pass, inputs: Sequence[Shape], batch: int = 1, training: bool = False) -> Shape:
        return self.left(what, self.gemm(inputs), batch, training, windows=True)


def circulant(kind: LayerKind, block: int) -> LayerKind | None:
    """Return the kind of a dense layer with circulant blocks; None for layers without weights."""
    values = {name: getattr(kind, name) for name in kind.model_fields_set}
    if type(kind) is FullyConnectedLayer:
        return BlockCirculantLayer(block=block, **values)
    return BlockCirculantConvolution(block=block, **values) if type(kind) is ConvolutionLayer else None

"""Layers whose matrix consists of circulant blocks: a value for each of a block's columns in place of its square."""

from collections.abc import Sequence
from typing import ClassVar

from gpusim.base.spec import param
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
    LayerPass,
    LayerTensors,
    Pass,
    PassSpec,
    PrimitiveUse,
    SavedTensor,
    ShapeError,
)
from workloads.networks.tensor import elements
from workloads.networks.weighted import WeightedLayer, with_joined
from workloads.operators.block_circulant import (
    BlockCirculantBackwardData,
    BlockCirculantBackwardWeights,
    BlockCirculantForward,
)
from workloads.operators.convolution import Convolution
from workloads.shapes import Shape

SOURCE = "Dong 2020, chapter 7"
FLOW_MEANING = (
    "baseline: figure 7.2a; optimised: 7.2b; o1, o2: with algorithm 6 or 7; o1_sum, o2_sum: with 8 too; fused: 9"
)
LANES_MEANING = "places that a workgroup has: source: as for warps of 32; wavefront: so that wavefronts of 64 are full"
_PRODUCTS = {Pass.FORWARD: FORWARD, Pass.BACKWARD_WEIGHTS: WEIGHTS, Pass.BACKWARD_DATA: DATA}


class _CirculantLayer(WeightedLayer):
    """What both kinds of layers say, and what passes read and write besides: kept frequencies."""

    ALGORITHMS: ClassVar[Sequence[str]] = ()

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

    def windows(self, shape: Shape) -> Convolution | None:
        """Return the convolution, over maps of this shape with the batch, whose windows are multiplied; None: none."""
        return None

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        """Return the dense layer's tensors with weights [p, q, block], and the frequencies that are kept."""
        dense, blocks = super().anatomy(inputs), self.blocks(self.gemm(inputs))
        weights = (blocks.sizes["i"], blocks.sizes["j"], self.block)
        if not self.keeps:
            return LayerTensors({**dense.parameters, "weight": weights})
        of_image = {name: SavedTensor(blocks.shape(layout)) for name, layout in (("x", "bj"), ("dy", "bi"))}
        saved = {"weight_transform": SavedTensor(get_frequency_shape(blocks, self.flow, "ij"), per_image=False)}
        saved |= {f"{name}_transform": one for name, one in of_image.items()}
        return LayerTensors({**dense.parameters, "weight": weights}, saved=saved)

    def forward(self, training: bool) -> PassSpec:
        plain = super().forward(training)
        kept = ("weight_transform", "x_transform") if self.keeps and training else ()
        return PassSpec(plain.what, plain.reads, (*plain.writes, *kept))

    def backward(self) -> tuple[PassSpec, ...]:
        """Return the gradients' passes; that of the weights makes the frequencies of dy for both."""
        weights, *biases, data = super().backward()
        if not self.keeps:
            return weights, *biases, data
        return (
            PassSpec(weights.what, ("x_transform", "dy"), ("dweight", "dy_transform")),
            *biases,
            PassSpec(data.what, ("weight_transform", "dy_transform"), ("dx",)),
        )

    def workspace(self, what: Pass, inputs: Sequence[Shape], batch: int = 1, training: bool = False) -> Shape:
        """Return the shape of all that a pass's launches leave for later ones."""
        if what not in _PRODUCTS:
            return (0,)
        blocks, windows = self.blocks(self.gemm(inputs), batch), self.windows((batch, *inputs[0]))
        shapes = list(left(blocks, self.flow, _PRODUCTS[what], windows is not None).values())
        if what is Pass.FORWARD and self.keeps and not training:
            shapes += [get_frequency_shape(blocks, self.flow, layout) for layout in ("ij", "bj")]
        return (sum(map(elements, shapes)),)

    def primitives(self, layer: LayerPass) -> tuple[PrimitiveUse, ...]:
        rows, windows = self.gemm(layer.inputs).m, self.windows(layer.input_shape)
        shape = self.vectors(layer), rows, self.block, self.flow, self.lanes, windows
        if layer.what is Pass.BACKWARD_WEIGHTS:
            return (PrimitiveUse(BlockCirculantBackwardWeights(*shape)),)
        forward, data = BlockCirculantForward(*shape, bias=self.bias), BlockCirculantBackwardData(*shape)
        return with_joined(
            layer, forward if layer.is_forward else data, "the kernels of circulant blocks end with transforms"
        )

    def why_dense(self, layer: LayerPass) -> str:
        return ""


class BlockCirculantLayer(_CirculantLayer, FullyConnectedLayer):
    """A fully connected layer whose matrix consists of circulant blocks."""

    NAME: ClassVar = "block_circulant"
    HALF: ClassVar = False
    SHARES: ClassVar = False

    def output(self, inputs: Sequence[Shape]) -> Shape:
        self.checked(self.gemm(inputs))
        return super().output(inputs)


class BlockCirculantConvolution(_CirculantLayer, ConvolutionLayer):
    """A convolution by im2col whose matrix of filters consists of circulant blocks."""

    NAME: ClassVar = "block_circulant_convolution"

    def output(self, inputs: Sequence[Shape]) -> Shape:
        shape = super().output(inputs)
        if self.groups > 1:
            raise ShapeError(f"{self.groups} groups of channels: circulant blocks are those of a single group")
        self.checked(Gemm(self.filters, inputs[0][0] * self.kernel[0] * self.kernel[1], shape[1] * shape[2]))
        return shape

    def windows(self, shape: Shape) -> Convolution:
        return self.convolution(shape)


def circulant(kind: LayerKind, block: int) -> LayerKind | None:
    """Return the kind of a dense layer with circulant blocks; None for layers without weights.

    Args:
        kind: Kind of layer.
        block: Side of a block.
    """
    values = {name: getattr(kind, name) for name in kind.model_fields_set}
    if isinstance(kind, FullyConnectedLayer) and kind.is_plain:
        return BlockCirculantLayer(block=block, **values)
    return BlockCirculantConvolution(block=block, **values) if type(kind) is ConvolutionLayer else None

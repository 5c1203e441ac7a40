"""Fully connected layers whose matrix consists of permuted diagonal blocks: a value for each of a block's rows."""

from collections.abc import Sequence
from typing import ClassVar

from gpusim.base.spec import param
from workloads.circulant import BLOCKS, CirculantBlocks
from workloads.networks.fully_connected import FullyConnectedLayer
from workloads.networks.kind import LayerKind, LayerPass, LayerTensors, Pass, PrimitiveUse, ShapeError
from workloads.networks.weighted import with_joined
from workloads.operators.permuted_diagonal import (
    PermutedDiagonalBackwardData,
    PermutedDiagonalBackwardWeights,
    PermutedDiagonalForward,
)
from workloads.shapes import Shape


class PermutedDiagonalLayer(FullyConnectedLayer):
    """A fully connected layer whose matrix consists of blocks with a permuted diagonal each."""

    NAME: ClassVar = "permuted_diagonal"
    HALF: ClassVar = False
    SHARES: ClassVar = False

    block: int = param(..., f"rows of a block: {', '.join(map(str, BLOCKS))}", "Dong 2020, section 8.1")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        if problem := self.blocks(inputs).problem:
            raise ShapeError(problem)
        return super().output(inputs)

    def blocks(self, inputs: Sequence[Shape]) -> CirculantBlocks:
        """Return the blocks of the matrix, for a vector."""
        gemm = self.gemm(inputs)
        return CirculantBlocks(1, gemm.k, gemm.m, self.block)

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        sizes = self.blocks(inputs).sizes
        weight = (sizes["i"], sizes["j"], self.block)
        return LayerTensors({**super().anatomy(inputs).parameters, "weight": weight})

    def fan_in(self, weight: Shape) -> int:
        return weight[1]

    def primitives(self, layer: LayerPass) -> tuple[PrimitiveUse, ...]:
        shape = self.vectors(layer), self.outputs, self.block
        if layer.what is Pass.BACKWARD_WEIGHTS:
            return (PrimitiveUse(PermutedDiagonalBackwardWeights(*shape)),)
        forward, data = PermutedDiagonalForward(*shape, bias=self.bias), PermutedDiagonalBackwardData(*shape)
        return with_joined(
            layer, forward if layer.is_forward else data, "the kernels of permuted diagonals end with sums"
        )


def permuted_diagonal(kind: LayerKind, block: int) -> LayerKind | None:
    """Return the kind of a dense layer with permuted diagonal blocks; None for others than fully connected ones.

    Args:
        kind: Kind of layer.
        block: Side of a block.
    """
    values = {name: getattr(kind, name) for name in kind.model_fields_set}
    plain = isinstance(kind, FullyConnectedLayer) and kind.is_plain
    return PermutedDiagonalLayer(block=block, **values) if plain else None

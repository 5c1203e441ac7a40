"""Products of two activations, and rows of a table by number: what attention and language models are made of."""

from collections.abc import Sequence
from typing import ClassVar

from gpusim.base.spec import param
from workloads.networks.kind import Gemm, LayerKind, LayerPass, LayerTensors, Pass, PassSpec, ShapeError
from workloads.networks.tensor import elements, format_shape, with_leading_ones
from workloads.operators.attention import ATTENTION_ALGORITHMS, DEFAULT_ATTENTION, AttentionForward
from workloads.operators.batched_product import BatchedProductForward
from workloads.operators.embedding import EmbeddingForward
from workloads.shapes import Shape

MAX_ROWS = 1 << 24


class MatMul(LayerKind):
    """Products of matrices [..., M, K] and [..., K, N] of two inputs; axes before them of size 1 are repeated."""

    NAME: ClassVar = "matmul"
    ARITY: ClassVar = (2, 2)
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x*",), ("y",))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("x*", "dy"), ("dx*",)),)

    turned: bool = param(False, "the second input is [..., N, K]", "scores of attention: keys as they lie")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        left, right = inputs
        if min(len(left), len(right)) < 2:
            raise ShapeError(
                f"inputs of shapes {format_shape(left)}, {format_shape(right)}: each needs ... × rows × columns"
            )
        rows, columns = right[-2:][::-1] if self.turned else right[-2:]
        if left[-1] != rows:
            raise ShapeError(
                f"inputs of shapes {format_shape(left)}, {format_shape(right)}: {left[-1]} columns of the first,"
                f" {rows} rows of the"
                " second: must be as many"
            )
        most = max(len(left), len(right)) - 2
        full = [(1,) * (most + 2 - len(shape)) + shape[:-2] for shape in (left, right)]
        if any(a != b and 1 not in (a, b) for a, b in zip(*full, strict=True)):
            raise ShapeError(
                f"inputs of shapes {format_shape(left)}, {format_shape(right)}: axes before the matrices do not fit"
            )
        return *(max(a, b) for a, b in zip(*full, strict=True)), left[-2], columns

    def gemm(self, inputs: Sequence[Shape]) -> Gemm:
        """Return the products, as many for each image as there are matrices."""
        output = self.output(inputs)
        return Gemm(output[-2], inputs[0][-1], output[-1], elements(output[:-2]))

    def operator(self, layer: LayerPass) -> BatchedProductForward:
        axes = len(layer.shape)
        left, right = ((layer.batch, *with_leading_ones(shape, axes)) for shape in layer.inputs)
        return BatchedProductForward(left, right, self.turned)


class Attention(LayerKind):
    """Attention of queries [heads, positions, width] over keys and values [heads', positions, width] (Vaswani 2017).

    heads is a multiple of heads': neighbouring heads share keys and values.
    """

    NAME: ClassVar = "attention"
    ALGORITHMS: ClassVar = tuple(ATTENTION_ALGORITHMS)  # of the forward pass
    ARITY: ClassVar = (3, 3)
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x*",), ("y",))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("x*", "dy"), ("dx*",)),)

    causal: bool = param(False, "the last query sees all keys, each before it one less", "the network")
    factor: float | None = param(None, "of the scores; none: 1 / √width", "Vaswani 2017, section 3.2.1")

    def scale(self, inputs: Sequence[Shape]) -> float:
        """Return the factor of the scores."""
        return self.factor if self.factor is not None else float(inputs[0][-1]) ** -0.5

    def output(self, inputs: Sequence[Shape]) -> Shape:
        queries, keys, values = inputs
        if len(queries) != 3 or len(keys) != 3 or keys != values:
            raise ShapeError(
                f"inputs of shapes {', '.join(map(format_shape, inputs))}: each must be heads × positions × width,"
                " keys and values of one shape"
            )
        if queries[2] != keys[2] or queries[0] % keys[0]:
            raise ShapeError(
                f"queries of {format_shape(queries)}, keys of {format_shape(keys)}: width must be the same, heads of"
                " queries a multiple of those of keys"
            )
        if self.causal and keys[1] < queries[1]:
            raise ShapeError(f"{queries[1]} queries, {keys[1]} keys: causal needs no fewer keys")
        return queries

    def gemm(self, inputs: Sequence[Shape]) -> Gemm:
        """Return the products with keys and with values, which have as many multiply-accumulates: two of each head."""
        heads, positions, width = inputs[0]
        return Gemm(positions, width, inputs[1][1], 2 * heads)

    def operator(self, layer: LayerPass) -> AttentionForward:
        queries, keys = ((layer.batch, *shape) for shape in layer.inputs[:2])
        made = ATTENTION_ALGORITHMS[layer.choose(layer.settings.attention)]
        made = ATTENTION_ALGORITHMS[DEFAULT_ATTENTION] if made.why_not(queries[-1]) else made
        return made(queries, keys, self.causal, self.scale(layer.inputs))


class Embedding(LayerKind):
    """Rows of a table by number; the input is one of the network's, of whole numbers."""

    NAME: ClassVar = "embedding"
    OPERATIONS: ClassVar = 0
    READS_NUMBERS: ClassVar = True
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x", "weight"), ("y",))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_WEIGHTS, ("x", "dy"), ("dweight",)),)

    rows: int = param(..., "rows of the table: the vocabulary", "the network", ge=1, le=MAX_ROWS)
    width: int = param(..., "values of a row", "the network", ge=1, le=MAX_ROWS)

    @property
    def propagates(self) -> bool:
        return False

    @property
    def numbers_below(self) -> int:
        return self.rows

    def output(self, inputs: Sequence[Shape]) -> Shape:
        return (*inputs[0], self.width)

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        return LayerTensors({"weight": (self.rows, self.width)})

    def operator(self, layer: LayerPass) -> EmbeddingForward:
        return EmbeddingForward(layer.input_shape, self.rows, self.width)

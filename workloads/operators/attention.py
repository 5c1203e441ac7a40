"""Attention: each query's mean of the values, weighted by the softmax of its products with the keys (Vaswani 2017)."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import e, log2, prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workloads.operators.activation import ActivationForward
from workloads.operators.batched_product import BatchedProductBackward, BatchedProductForward
from workloads.operators.causal_mask import CausalMask
from workloads.operators.launching import divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import LaunchTuple, Primitive, ReferenceValue
from workloads.operators.softmax import SoftmaxBackward, SoftmaxForward
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF, inner_product_bound
from workloads.shapes import Shape

AXES = 4  # images × heads × positions × width
WIDTHS = (16, 32, 64)  # of a head, that workloads/kernels/attention.cl has
KEY_WIDTHS = (*WIDTHS, 128)  # by key, with those of attention_wide.cl
LANES = 64  # queries of a workgroup there
CHUNK = 8  # keys between two looks at the largest score


class AttentionReference(NamedTuple):
    """Attention in FP64, step by step, over [images, heads of keys, heads that share them, ...]."""

    scores: np.ndarray
    """Scores."""
    weights: np.ndarray
    """Weights."""
    y: np.ndarray
    """Result."""
    off_scores: np.ndarray
    """Bounds on the FP32 errors of the scores."""
    off_weights: np.ndarray
    """Bounds on the FP32 errors of the weights."""


@dataclass(frozen=True)
class _Attention(Primitive):
    """Attention of queries x0 [N, heads, queries, width] over keys x1 and values x2 [N, heads', keys, width].

    The number of heads is a multiple of heads'; adjacent heads share keys.
    """

    queries: Shape
    """Shape of the queries."""
    keys: Shape
    """Shape of the keys and values."""
    causal: bool = False
    """The last query uses all keys, and each query before it one fewer."""
    factor: float = 1.0
    """Factor of the scores."""

    def __post_init__(self) -> None:
        if len(self.queries) != AXES or len(self.keys) != AXES:
            raise self.refuse(f"{list(self.queries)} and {list(self.keys)}; each must be [N, heads, positions, width]")
        fits = self.queries[0] == self.keys[0] and self.queries[3] == self.keys[3]
        if not fits or self.queries[1] % self.keys[1]:
            raise self.refuse(
                f"queries {list(self.queries)}, keys {list(self.keys)}; images and width must be the same, heads of"
                " queries a multiple of those of keys"
            )
        if self.causal and self.keys[2] < self.queries[2]:
            raise self.refuse(f"{self.queries[2]} queries, {self.keys[2]} keys; causal needs no fewer keys")

    @property
    def operands(self) -> Mapping[str, Operand]:
        """Queries, keys and values by name."""
        return {"x0": Operand(self.queries), "x1": Operand(self.keys), "x2": Operand(self.keys)}

    @property
    def y(self) -> Operand:
        """The result of the forward pass."""
        return Operand(self.queries)

    @property
    def grouped(self) -> tuple[Shape, Shape]:
        """The shapes of queries and of keys with an axis for the heads that share keys."""
        images, shared = self.keys[:2]
        return (images, shared, self.queries[1] // shared, *self.queries[2:]), (images, shared, 1, *self.keys[2:])

    @property
    def scores(self) -> Shape:
        """The shape of the scores."""
        return (*self.grouped[0][:-1], self.keys[2])

    @property
    def seen_pairs(self) -> int:
        """Pairs of a query and a key that it sees."""
        queries, keys = self.queries[2], self.keys[2]
        hidden = queries * (queries - 1) // 2 if self.causal else 0
        return prod(self.queries[:2]) * (queries * keys - hidden)

    @property
    def _products(self) -> tuple[BatchedProductForward, BatchedProductForward]:
        """The products that give scores and mixtures."""
        queries, keys = self.grouped
        return BatchedProductForward(queries, keys, True), BatchedProductForward(self.scores, keys)

    @property
    def _rows(self) -> Shape:
        return prod(self.scores[:-1]), self.scores[-1]

    def _weights(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        """Return the launches that leave the weights in the workspace `weights`."""
        queries, keys = self.grouped
        given = {"x0": _under(tensors["x0"], queries), "x1": _under(tensors["x1"], keys)}
        weights = _under(tensors["weights"], self.scores)
        twice = {"x": weights, "y": weights}
        rows = dict.fromkeys(("x", "y"), _under(weights, self._rows))
        return (
            *self._products[0].launches({**given, "y": weights}, gpu),
            *ActivationForward("affine", self.scores, self.factor).launches(twice, gpu),
            *(CausalMask(self.scores).launches(twice, gpu) if self.causal else ()),
            *SoftmaxForward(self._rows).launches(rows, gpu),
        )

    def weighted(self, inputs: Mapping[str, np.ndarray], chunks: int = 0) -> AttentionReference:
        """Compute the definition. chunks: how often a sum shrinks before it is whole."""
        images = len(inputs["x0"])
        queries, keys = ((images, *shape[1:]) for shape in self.grouped)
        q, k, v = (
            inputs[name].astype(np.float64).reshape(shape)
            for name, shape in (("x0", queries), ("x1", keys), ("x2", keys))
        )
        width, count = self.keys[3], self.keys[2]
        turned = k.swapaxes(-1, -2)
        scores = self.factor * (q @ turned)
        off = abs(self.factor) * inner_product_bound(float(width), np.abs(q) @ np.abs(turned), width)
        off += 6 * UNIT_ROUNDOFF * np.abs(scores)  # of the factor, its product and its conversion to powers of two
        if self.causal:
            seen = np.arange(count) <= np.arange(self.queries[2])[:, None] + count - self.queries[2]
            scores, off = np.where(seen, scores, -np.inf), np.where(seen, off, 0.0)
        away = scores - scores.max(axis=-1, keepdims=True)
        weights = np.exp(away)
        weights /= weights.sum(axis=-1, keepdims=True)
        # an error of a score is a relative one of its weight; what is not seen has the weight 0
        away = np.where(np.isfinite(away), np.abs(away), 0.0)
        relative = off + off.max(axis=-1, keepdims=True) + UNIT_ROUNDOFF * (3 * away + count + 12 + 4 * chunks)
        relative = relative + (weights * relative).sum(axis=-1, keepdims=True)
        off_weights = weights * relative + 2 * SMALLEST_NORMAL
        return AttentionReference(scores, weights, weights @ v, off, off_weights)

    def mixed(self, inputs: Mapping[str, np.ndarray], chunks: int = 0) -> Mapping[str, ReferenceValue]:
        """Return the forward pass's result with its bound."""
        found = self.weighted(inputs, chunks)
        v = np.abs(inputs["x2"].astype(np.float64)).reshape((len(inputs["x2"]), *self.grouped[1][1:]))
        terms = float(self.keys[2])
        bound = found.off_weights @ v + inner_product_bound(terms, found.weights @ v, self.keys[2])
        shape = (len(inputs["x0"]), *self.queries[1:])
        return {"y": ReferenceValue(found.y.reshape(shape), bound.reshape(shape))}


class AttentionForward(_Attention):
    """Base of the forward algorithms."""

    algorithm: ClassVar[str]
    """Name of the algorithm."""

    @property
    def name(self) -> str:
        return f"attention forward ({self.algorithm})"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return self.operands

    @property
    def macs(self) -> int:
        return 2 * self.queries[3] * prod(self.scores)

    @property
    def needed_macs(self) -> int:
        return self.macs

    @property
    def operations(self) -> int:
        return 6 * prod(self.scores)

    def backward(self) -> "AttentionBackward":
        return AttentionBackward(self.queries, self.keys, self.causal, self.factor)

    @classmethod
    @abstractmethod
    def why_not(cls, width: int) -> str:
        """Say why the kernels do not compute heads of this width; the text is empty if they do."""


@dataclass(frozen=True)
class ComposedAttention(AttentionForward):
    """By a product, a mask, a softmax and a product, with the weights of all pairs in memory between them."""

    algorithm = "composed"

    @classmethod
    def why_not(cls, width: int) -> str:
        return ""

    @property
    def workspace(self) -> Mapping[str, Operand]:
        return {"weights": Operand(self.scores)}

    @property
    def passed_on_bytes(self) -> int:
        return 4 * prod(self.scores) * (3 + self.causal)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        queries, keys = self.grouped
        weights = _under(tensors["weights"], self.scores)
        mixing = {"x0": weights, "x1": _under(tensors["x2"], keys), "y": _under(tensors["y"], queries)}
        return (*self._weights(tensors, gpu), *self._products[1].launches(mixing, gpu))

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return self.mixed(inputs)


class _FusedAttention(AttentionForward):
    """One launch of workloads/kernels/attention.cl or attention_wide.cl, whose scores stay in registers."""

    widths: ClassVar[tuple[int, ...]]
    """Supported widths of heads."""

    @classmethod
    def why_not(cls, width: int) -> str:
        allowed = ", ".join(map(str, cls.widths))
        return "" if width in cls.widths else f"heads of width {width}; its kernels have {allowed}"

    def __post_init__(self) -> None:
        super().__post_init__()
        if why := self.why_not(self.queries[3]):
            raise self.refuse(why)

    @property
    def needed_macs(self) -> int:
        return 2 * self.queries[3] * self.seen_pairs

    @property
    def rows(self) -> int:
        """Queries of the heads that share keys."""
        return self.queries[1] // self.keys[1] * self.queries[2]

    @property
    @abstractmethod
    def groups(self) -> int:
        """Workgroups of these queries."""

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        keys, queries, width = self.keys[2], self.queries[2], self.queries[3]
        values: dict[str, Any] = {"q": tensors["x0"], "k": tensors["x1"], "v": tensors["x2"], "y": tensors["y"]}
        values |= {"rows": self.rows, "keys": keys, "by_queries": divisor(queries)}
        values |= {"before": keys - queries if self.causal else keys, "factor": self.factor * log2(e)}
        grid = (self.groups, prod(self.keys[:2]))
        source = "attention" if width in WIDTHS else "attention_wide"
        return (launch(source, f"attention_{self.algorithm}_{width}", tensors["y"].memory, grid, values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return self.mixed(inputs, -(-self.keys[2] // CHUNK) + 4)


@dataclass(frozen=True)
class AttentionByQuery(_FusedAttention):
    """A lane for each query, with its sums in registers; keys and values are scalars, the same for 64 queries."""

    algorithm = "by_query"
    widths = WIDTHS

    @property
    def groups(self) -> int:
        return -(-self.rows // LANES)


@dataclass(frozen=True)
class AttentionByKey(_FusedAttention):
    """A workgroup for each query, a lane for each key: for few queries, as a step of decoding has."""

    algorithm = "by_key"
    widths = KEY_WIDTHS

    @property
    def groups(self) -> int:
        return self.rows


DEFAULT_ATTENTION = "composed"  # it computes heads of every width
ATTENTION_ALGORITHMS: Mapping[str, type[AttentionForward]] = {
    one.algorithm: one for one in (ComposedAttention, AttentionByQuery, AttentionByKey)
}


@dataclass(frozen=True)
class AttentionBackward(_Attention):
    """Gradients of queries, keys and values from dy; the weights are computed again.

    With weights p: dp = dy · x2 transposed; of the scores p (dp - the sum over keys of p dp).
    """

    name = "attention backward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {**self.operands, "dy": self.y}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {f"d{name}": operand for name, operand in self.operands.items()}

    @property
    def _gradients(self) -> tuple[BatchedProductBackward, BatchedProductBackward]:
        """The backward passes of the products that give scores and mixtures."""
        of_scores, of_mixture = self._products
        return of_scores.backward(), of_mixture.backward()

    @property
    def workspace(self) -> Mapping[str, Operand]:
        found = {"weights": Operand(self.scores), "dweights": Operand(self.scores)}
        for part, one in zip(("scores", "mixture"), self._gradients, strict=True):
            found |= {f"{part}.{name}": operand for name, operand in one.workspace.items()}
        return found

    @property
    def passed_on_bytes(self) -> int:
        return super().passed_on_bytes + 4 * prod(self.scores) * (4 + self.causal)

    @property
    def macs(self) -> int:
        return 5 * self.queries[3] * prod(self.scores)

    @property
    def operations(self) -> int:
        return 11 * prod(self.scores)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        queries, keys = self.grouped
        of_scores, of_mixture = self._gradients
        held = {name: tensors[name] for name in ("x0", "x1", "x2", "dy", "dx0", "dx1", "dx2")}
        held = {name: _under(one, keys if name[-1] in "12" else queries) for name, one in held.items()}
        weights, dweights = (_under(tensors[name], self.scores) for name in ("weights", "dweights"))
        rows = {"y": _under(weights, self._rows), **dict.fromkeys(("dy", "dx"), _under(dweights, self._rows))}
        mixing = {"x0": weights, "x1": held["x2"], "dy": held["dy"], "dx0": dweights, "dx1": held["dx2"]}
        scoring = {name: held[name] for name in ("x0", "x1", "dx0", "dx1")} | {"dy": dweights}
        return (
            *self._weights(tensors, gpu),
            *of_mixture.launches(mixing | _named(tensors, "mixture."), gpu),
            *SoftmaxBackward(self._rows).launches(rows, gpu),
            *ActivationForward("affine", self.scores, self.factor).launches({"x": dweights, "y": dweights}, gpu),
            *of_scores.launches(scoring | _named(tensors, "scores."), gpu),
        )

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        found, images = self.weighted(inputs), len(inputs["x0"])
        queries, keys = ((images, *shape[1:]) for shape in self.grouped)
        q, dy = (inputs[name].astype(np.float64).reshape(queries) for name in ("x0", "dy"))
        k, v = (inputs[name].astype(np.float64).reshape(keys) for name in ("x1", "x2"))
        width, count, heads = self.keys[3], self.keys[2], queries[2]
        p, off_p = found.weights, found.off_weights
        dp = dy @ v.swapaxes(-1, -2)
        off_dp = inner_product_bound(float(width), np.abs(dy) @ np.abs(v).swapaxes(-1, -2), width)
        whole = (p * dp).sum(axis=-1, keepdims=True)
        size = (p * np.abs(dp)).sum(axis=-1, keepdims=True)
        off_whole = (off_p * np.abs(dp) + p * off_dp).sum(axis=-1, keepdims=True)
        off_whole += UNIT_ROUNDOFF * (count + 6) * size
        ds = p * (dp - whole)
        off_ds = off_p * (np.abs(dp) + size) + p * (off_dp + off_whole) + 6 * UNIT_ROUNDOFF * p * (np.abs(dp) + size)
        ds, off_ds = self.factor * ds, abs(self.factor) * off_ds + 3 * UNIT_ROUNDOFF * np.abs(self.factor * ds)

        def summed(a: np.ndarray, b: np.ndarray, off_a: np.ndarray, terms: int, shared: bool) -> ReferenceValue:
            """Multiply, and add up over heads that share an operand; `a` is off by `off_a`."""
            value, size, off = a @ b, np.abs(a) @ np.abs(b), off_a @ np.abs(b)
            bound = off + inner_product_bound(float(terms), size, terms) + UNIT_ROUNDOFF * (heads + 1) * size
            if not shared:
                return ReferenceValue(value.reshape(-1, *self.queries[1:]), bound.reshape(-1, *self.queries[1:]))
            return ReferenceValue(*(part.sum(axis=2).reshape(-1, *self.keys[1:]) for part in (value, bound)))

        turned = (ds.swapaxes(-1, -2), q, off_ds.swapaxes(-1, -2), self.queries[2], True)
        mixed = (p.swapaxes(-1, -2), dy, off_p.swapaxes(-1, -2), self.queries[2], True)
        return {"dx0": summed(ds, k, off_ds, count, False), "dx1": summed(*turned), "dx2": summed(*mixed)}


def _under(tensor: Tensor, shape: Shape) -> Tensor:
    """Return the tensor under another shape."""
    return replace(tensor, shape=shape)


def _named(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)}

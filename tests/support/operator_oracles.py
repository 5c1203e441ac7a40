"""What operators compute, by their definitions: in FP64, with parameters of their own, from nothing of the operators.

The operators' references are held to the kernels, and take their parameters from the same objects: what is wrong in
such an object is wrong in both. Here each definition is written once more, as a loop or a closed form, and a case has
its parameters twice: once for the operator, once for the definition. Gradients are finite differences of definitions.
"""

import cmath
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Arrays = dict[str, np.ndarray]
Definition = Callable[[Arrays], Arrays]


@dataclass(frozen=True, eq=False)
class Case:
    """An operator beside its definition.

    differentiable: operands whose gradients are tried; positive: those above zero; whole: those of whole numbers below
    so many; times: those that are drawn so many times as wide; tolerance: relative, of results and gradients.
    """

    name: str
    forward: object
    definition: Definition
    differentiable: tuple[str, ...] = ("x",)
    positive: tuple[str, ...] = ()
    whole: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    output: str = "y"
    tolerance: float = 1e-4


def elementwise(function: Callable[[float], float]) -> Definition:
    """Apply a function of one number."""
    return lambda a: {"y": np.vectorize(function, otypes=[np.float64])(a["x"])}


def sigmoid(x: float) -> float:
    """Compute the logistic function."""
    return 1 / (1 + math.exp(-x))


def windows_of(size: int, kernel: int, stride: int, before: int, after: int, ceil: bool) -> list[int]:
    """Return where windows begin, the first at -before. Rounding up, one more may reach over the end."""
    begins, begin = [], -before
    while begin + kernel <= size + after:
        begins.append(begin)
        begin += stride
    if ceil and begins[-1] + kernel < size + after and begin < size:
        begins.append(begin)
    return [begin for begin in begins if not ceil or begin < size]


def pooled(
    average: bool,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int, int, int],
    ceil: bool = False,
    count_padding: bool = True,
) -> Definition:
    """Pool by going through every window; padding: top, left, bottom, right."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        images, channels, *size = x.shape
        rows, columns = (windows_of(size[k], kernel[k], stride[k], padding[k], padding[k + 2], ceil) for k in (0, 1))
        out = np.zeros((images, channels, len(rows), len(columns)))
        for i, top in enumerate(rows):
            for j, left in enumerate(columns):
                low, right = min(top + kernel[0], size[0]), min(left + kernel[1], size[1])
                held = x[:, :, max(top, 0) : low, max(left, 0) : right]
                if not average:
                    out[:, :, i, j] = held.max(axis=(2, 3))
                    continue
                count = held.shape[2] * held.shape[3]
                if count_padding:
                    bottom, end = (
                        min(top + kernel[0], size[0] + padding[2]),
                        min(left + kernel[1], size[1] + padding[3]),
                    )
                    count = (bottom - top) * (end - left)
                out[:, :, i, j] = held.sum(axis=(2, 3)) / count
        return {"y": out}

    return y


def lrn(size: int, beta: float, k: float, per_square: float) -> Definition:
    """Normalise across channels; per_square: what a square counts in the sum."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        out = np.zeros(x.shape)
        for c in range(x.shape[1]):
            around = x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1]
            out[:, c] = x[:, c] / (k + per_square * (around**2).sum(axis=1)) ** beta
        return {"y": out}

    return y


def normalised(epsilon: float, factor: float, by_activation: bool = False) -> Definition:
    """Normalise a batch, and move the running statistics by `factor`; the variance's sample has one element less."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        axes = (0,) if by_activation else (0, *range(2, x.ndim))
        count = math.prod(x.shape[axis] for axis in axes)
        mean = x.sum(axis=axes, keepdims=True) / count
        squares = ((x - mean) ** 2).sum(axis=axes, keepdims=True)
        spread = (squares / count + epsilon) ** 0.5
        of_channel = mean.shape[1:]
        scale, bias = (a[name].reshape(of_channel) for name in ("scale", "bias"))
        shape = a["scale"].shape
        running = (1 - factor) * a["running_mean"] + factor * mean.reshape(shape)
        variance = (1 - factor) * a["running_variance"] + factor * (squares / (count - 1)).reshape(shape)
        batch = {"mean": mean.reshape(shape), "inverse_deviation": 1 / spread.reshape(shape)}
        return {"y": (x - mean) / spread * scale + bias, **batch, "running_mean": running, "running_variance": variance}

    return y


def normalised_by_running(epsilon: float) -> Definition:
    """Normalise by the running statistics."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        shape = (1, -1, *(1,) * (x.ndim - 2))
        scale, bias, mean, variance = (
            a[name].reshape(shape) for name in ("scale", "bias", "running_mean", "running_variance")
        )
        return {"y": scale * (x - mean) / (variance + epsilon) ** 0.5 + bias}

    return y


def softmax(a: Arrays) -> Arrays:
    """Compute the share of each channel's exponential."""
    powers = np.exp(a["x"])
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


def attended(causal: bool, factor: float) -> Definition:
    """Weigh the values of each query by the exponentials of its products with the keys, one query at a time."""

    def y(a: Arrays) -> Arrays:
        queries, keys, values = (a[name] for name in ("x0", "x1", "x2"))
        images, heads, count, width = queries.shape
        sharing = heads // keys.shape[1]
        out = np.zeros(queries.shape)
        for image, head, place in np.ndindex(images, heads, count):
            kept = keys.shape[2] - (count - 1 - place if causal else 0)
            terms = []
            for key in range(kept):
                with_key = sum(
                    queries[image, head, place, d] * keys[image, head // sharing, key, d] for d in range(width)
                )
                terms.append(math.exp(factor * with_key))
            for d in range(width):
                of_values = values[image, head // sharing, :kept, d]
                out[image, head, place, d] = sum(t * one for t, one in zip(terms, of_values, strict=True)) / sum(terms)
        return {"y": out}

    return y


def cross_entropy(a: Arrays) -> Arrays:
    """Compute each image's loss, and their mean."""
    y = softmax(a)["y"]
    losses = np.array([-math.log(row[label]) for row, label in zip(y, a["labels"].astype(int), strict=True)])
    return {"y": y, "losses": losses, "loss": np.array([sum(losses) / len(losses)])}


def with_bias(a: Arrays) -> Arrays:
    """Add a channel's bias."""
    return {"y": np.stack([a["x"][:, c] + bias for c, bias in enumerate(a["bias"])], axis=1)}


def added(a: Arrays) -> Arrays:
    """Add all arrays up."""
    return {"y": sum(a.values(), np.zeros(()))}


def joined(a: Arrays) -> Arrays:
    """Put arrays behind one another, channel by channel."""
    return {"y": np.stack([part[:, c] for part in a.values() for c in range(part.shape[1])], axis=1)}


def appended(a: Arrays) -> Arrays:
    """Put three channels in place of those from the fifth on."""
    return {"y": np.concatenate((a["y"][:, :4], a["x"], a["y"][:, 7:]), axis=1)}


def convolved(
    stride: tuple[int, int], padding: tuple[int, int, int, int], dilation: tuple[int, int], groups: int
) -> Definition:
    """Convolve by going through every output, with a bias if there is one."""

    def y(a: Arrays) -> Arrays:
        x, weight = a["x"], a["weight"]
        filters, channels, *kernel = weight.shape
        top, left, bottom, right = padding
        held = np.zeros((*x.shape[:2], x.shape[2] + top + bottom, x.shape[3] + left + right))
        held[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
        reach = [dilation[k] * (kernel[k] - 1) + 1 for k in (0, 1)]
        rows, columns = (range(0, held.shape[k + 2] - reach[k] + 1, stride[k]) for k in (0, 1))
        out = np.zeros((x.shape[0], filters, len(rows), len(columns)))
        for group in range(groups):
            of_group = slice(group * (filters // groups), (group + 1) * (filters // groups))
            some = held[:, np.newaxis, group * channels : (group + 1) * channels]
            for i, r in enumerate(rows):
                for j, c in enumerate(columns):
                    window = some[..., r : r + reach[0] : dilation[0], c : c + reach[1] : dilation[1]]
                    out[:, of_group, i, j] = (window * weight[of_group]).sum(axis=(2, 3, 4))
        if "bias" in a:
            out += a["bias"].reshape(-1, 1, 1)
        return {"y": out}

    return y


def connected(a: Arrays) -> Arrays:
    """Multiply every image, as a vector, by each output's weights, and add a bias if there is one."""
    flat = [image.reshape(-1) for image in a["x"]]
    bias = a.get("bias", np.zeros(len(a["weight"])))
    return {"y": np.array([[math.fsum(w * v) + b for w, b in zip(a["weight"], bias, strict=True)] for v in flat])}


def connected_by_diagonals(a: Arrays) -> Arrays:
    """Multiply by blocks of a value a row, [p, q, k]: row r of block (i, j) meets its column (r + i + j) mod k."""
    (p, q, k), outputs = a["weight"].shape, len(a["bias"])
    y = np.tile(a["bias"].astype(float), (len(a["x"]), 1))
    for n, image in enumerate(a["x"].reshape(len(a["x"]), -1)):
        for i in range(p):
            for j in range(q):
                for r in range(k):
                    row, column = i * k + r, j * k + (r + i + j) % k
                    if row < outputs and column < len(image):
                        y[n, row] += float(a["weight"][i, j, r]) * float(image[column])
    return {"y": y}


def connected_in_circles(a: Arrays) -> Arrays:
    """Multiply by blocks of circulant matrices [p, q, k], element by element (Dong 2020, section 7.2)."""
    (p, q, k), flat = a["weight"].shape, [image.reshape(-1) for image in a["x"]]
    result = [
        [
            math.fsum(
                a["weight"][i, j, (r - c) % k] * v[j * k + c] for j in range(q) for c in range(k) if j * k + c < len(v)
            )
            for i in range(p)
            for r in range(k)
        ]
        for v in flat
    ]
    bias = a.get("bias", np.zeros(p * k))
    return {"y": np.array(result)[:, : len(bias)] + bias}


def normal_share(x: float) -> float:
    """Compute the standard normal distribution's share below x."""
    return math.erfc(-x / math.sqrt(2)) / 2


def gelu_by_tanh(x: float) -> float:
    """Compute the approximation of x times the normal share (Hendrycks and Gimpel 2016)."""
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def repeated(array: np.ndarray, at: tuple[int, ...]) -> float:
    """Return the element at a place of a larger array: axes of 1 are repeated, leading ones may be absent."""
    near = at[len(at) - array.ndim :]
    return float(array[tuple(0 if size == 1 else i for size, i in zip(array.shape, near, strict=True))])


def combined(operation: Callable[[float, float], float], shape: tuple[int, ...]) -> Definition:
    """Apply a function of two numbers at every place of the result's shape."""

    def y(a: Arrays) -> Arrays:
        out = np.zeros(shape)
        for at in np.ndindex(shape):
            out[at] = operation(repeated(a["x0"], at), repeated(a["x1"], at))
        return {"y": out}

    return y


def multiplied(shape: tuple[int, ...], turned: bool = False) -> Definition:
    """Multiply matrices element by element into a result of this shape; turned: the second ones lie transposed."""

    def y(a: Arrays) -> Arrays:
        x0, x1 = a["x0"], a["x1"]
        out = np.zeros(shape)
        for *batch, row, column in np.ndindex(shape):
            terms = []
            for k in range(x0.shape[-1]):
                place = (column, k) if turned else (k, column)
                terms.append(repeated(x0, (*batch, row, k)) * repeated(x1, (*batch, *place)))
            out[(*batch, row, column)] = math.fsum(terms)
        return {"y": out}

    return y


def permuted(order: tuple[int, ...]) -> Definition:
    """Move every element to the place whose coordinates are its own in another order."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        out = np.zeros([x.shape[axis] for axis in order])
        for at in np.ndindex(x.shape):
            out[tuple(at[axis] for axis in order)] = x[at]
        return {"y": out}

    return y


def cut_out(starts: tuple[int, ...], steps: tuple[int, ...], sizes: tuple[int, ...], fill: float = 0.0) -> Definition:
    """Take the elements at start, start + step and so on along each axis; `fill` where there are none."""

    def y(a: Arrays) -> Arrays:
        x, out = a["x"], np.full(sizes, fill)
        for at in np.ndindex(sizes):
            place = tuple(start + i * step for start, i, step in zip(starts, at, steps, strict=True))
            if all(0 <= i < size for i, size in zip(place, x.shape, strict=True)):
                out[at] = x[place]
        return {"y": out}

    return y


def spread_out(sizes: tuple[int, ...], scale: float = 1.0, name: str = "x") -> Definition:
    """Repeat axes of 1, or absent ones, up to these sizes, and multiply."""

    def y(a: Arrays) -> Arrays:
        out = np.zeros(sizes)
        for at in np.ndindex(sizes):
            out[at] = scale * repeated(a[name], at)
        return {"y": out}

    return y


def summed_up(axes: tuple[int, ...], scale: float = 1.0) -> Definition:
    """Add up along axes, one after the other, and multiply."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        for axis in axes:
            x = np.stack([sum(np.moveaxis(x, axis, 0), np.zeros(()))], axis)
        return {"y": scale * x}

    return y


def looked_up(a: Arrays) -> Arrays:
    """Take the table's row of each number."""
    out = np.zeros((*a["x"].shape, a["weight"].shape[1]))
    for at in np.ndindex(a["x"].shape):
        out[at] = a["weight"][int(a["x"][at])]
    return {"y": out}


def turned_by_place(first: int, base: float) -> Definition:
    """Turn pairs, as complex numbers, by place times base^(-2 d / width) (Su 2021); pairs lie half a row apart."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        width, out = x.shape[-1], np.zeros(x.shape)
        for *rest, place, d in np.ndindex(*x.shape[:-1], width // 2):
            one, other = (*rest, place, d), (*rest, place, d + width // 2)
            turned = complex(x[one], x[other]) * cmath.exp(1j * (first + place) * base ** (-2 * d / width))
            out[one], out[other] = turned.real, turned.imag
        return {"y": out}

    return y


def causal(a: Arrays) -> Arrays:
    """Leave scores of keys up to a query's own place, of which the last query has the last; others have no share."""
    x = a["x"]
    queries, keys = x.shape[-2:]
    out = x.copy()
    for query in range(queries):
        for key in range(keys):
            if keys - 1 - key < queries - 1 - query:
                out[..., query, key] = -3e38
    return {"y": out}


def normalised_rows(epsilon: float, axes: int = 1, centred: bool = True) -> Definition:
    """Normalise over the last axes (Ba 2016); uncentred by the mean square, without a mean (Zhang 2019)."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        out, means, inverses = np.zeros(x.shape), [], []
        for at in np.ndindex(x.shape[:-axes]):
            mean = x[at].sum() / x[at].size if centred else 0.0
            spread = math.sqrt(((x[at] - mean) ** 2).sum() / x[at].size + epsilon)
            out[at] = (x[at] - mean) / spread * a["scale"] + a.get("bias", 0.0)
            means.append(mean)
            inverses.append(1 / spread)
        by_image = (len(x), -1)
        kept = {"mean": np.array(means), "inverse_deviation": np.array(inverses)}
        return {"y": out, **{name: array.reshape(by_image) for name, array in kept.items()}}

    return y


def normalised_groups(epsilon: float, groups: int) -> Definition:
    """Normalise an image's channels, a group of neighbours at a time (Wu and He 2018)."""

    def y(a: Arrays) -> Arrays:
        x = a["x"]
        out, each = np.zeros(x.shape), x.shape[1] // groups
        means, inverses = np.zeros((len(x), groups)), np.zeros((len(x), groups))
        for n in range(len(x)):
            for group in range(groups):
                held = x[n, group * each : (group + 1) * each]
                mean = held.sum() / held.size
                spread = math.sqrt(((held - mean) ** 2).sum() / held.size + epsilon)
                means[n, group], inverses[n, group] = mean, 1 / spread
                for c in range(group * each, (group + 1) * each):
                    out[n, c] = (x[n, c] - mean) / spread * a["scale"][c] + a["bias"][c]
        return {"y": out, "mean": means, "inverse_deviation": inverses}

    return y


def gradient(definition: Definition, inputs: Arrays, of: str, output: str, dy: np.ndarray) -> np.ndarray:
    """Return the gradient of sum(dy * output) by an operand, by central differences."""
    found, step = np.zeros(inputs[of].shape), 1e-5
    for at in np.ndindex(found.shape):
        results = []
        for sign in (1, -1):
            moved = {**inputs, of: inputs[of].copy()}
            moved[of][at] += sign * step
            results.append(definition(moved)[output])
        # of elements first: a mask's would swallow all others in a sum
        found[at] = ((results[0] - results[1]) * dy).sum() / (2 * step)
    return found

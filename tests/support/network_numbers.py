"""Iterations of networks computed by NumPy in FP64, step by step, in one array that is laid out by the memory plan.

Every step sees only the tensors that its roles name, where the plan puts them; memory that nothing has written is NaN.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from workloads.networks.graph import Layer
from workloads.networks.kind import Pass
from workloads.networks.memory import MemoryPlan
from workloads.networks.schedule import Step
from workloads.networks.tensor import TensorRole

Arrays = Mapping[str, np.ndarray]
RATE, MOMENTUM = 0.1, 0.9
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class Machine:
    """The memory of a plan; a slot of the array for each byte, so that tensors of every type fit."""

    def __init__(self, plan: MemoryPlan, values: Mapping[str, np.ndarray], rate: float = RATE) -> None:
        """values: of parameters, state and inputs by tensor; state that has none is zero; rate: of the updates."""
        self.plan, self.schedule, self.rate = plan, plan.schedule, rate
        self.slots = np.full(plan.bytes, np.nan)
        for name, tensor in self.schedule.tensors.items():
            if name in plan.buffer_of and tensor.role is TensorRole.STATE:
                self.array(name)[...] = 0
        for name, value in values.items():
            if name in plan.buffer_of:
                self.array(name)[...] = value

    def array(self, name: str) -> np.ndarray:
        """A tensor, as a view."""
        tensor, offset = self.schedule.tensors[name], self.plan.buffer_of[name].offset
        return self.slots[offset : offset + tensor.elements].reshape(tensor.shape)

    def run(self) -> "Machine":
        """All steps."""
        for step in self.schedule.steps:
            self.step(step)
        return self

    def step(self, step: Step) -> None:
        """One step: all is read before anything is written."""
        read = {role: self.array(name).copy() for role, name in step.reads.items()}
        assert not any(np.isnan(value).any() for value in read.values()), f"{step.name} reads what is not there"
        layer = self.schedule.network[step.layer]
        if step.what is Pass.UPDATE:
            made = _update(read, self.rate)
        else:
            common = _COMMON.get(step.what)
            made = common(read) if common else _OF_KIND[layer.kind_name](layer, step.what, read)
        for role, name in step.writes.items():
            array = self.array(name)
            array[...] = made[role].reshape(array.shape) if made[role].size == array.size else made[role]


def _inputs(read: Arrays) -> list[np.ndarray]:
    return [read["x"]] if "x" in read else [read[f"x{n}"] for n in range(len(read))]


def _softmax(x: np.ndarray) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def _one_hot(read: Arrays) -> np.ndarray:
    y = read["y"].reshape(len(read["labels"]), -1)
    return np.eye(y.shape[1])[read["labels"].astype(int)]


def _loss(read: Arrays) -> Arrays:
    y = _softmax(read["x"].reshape(len(read["x"]), -1))
    losses = -np.log(y[np.arange(len(y)), read["labels"].astype(int)])
    return {"y": y, "losses": losses, "loss": np.array([losses.mean()])}


def _loss_gradient(read: Arrays) -> Arrays:
    y = read["y"].reshape(len(read["y"]), -1)
    return {"dx": (y - _one_hot(read)) / len(y)}


def _gradient_sum(read: Arrays) -> Arrays:
    return {"y": np.sum(_inputs(read), axis=0)}


def _update(read: Arrays, rate: float) -> Arrays:
    value, gradient = read["w"], read["dw"]
    if "velocity" in read:
        velocity = MOMENTUM * read["velocity"] + gradient
        return {"w": value - rate * velocity, "velocity": velocity}
    first = BETA_1 * read["mean"] + (1 - BETA_1) * gradient
    second = BETA_2 * read["square"] + (1 - BETA_2) * gradient**2
    moved = rate * (first / (1 - BETA_1)) / (np.sqrt(second / (1 - BETA_2)) + EPSILON)  # the first iteration's
    return {"w": value - moved, "mean": first, "square": second}


_COMMON: dict[Pass, Callable[[Arrays], Arrays]] = {
    Pass.LOSS: _loss,
    Pass.LOSS_GRADIENT: _loss_gradient,
    Pass.GRADIENT_SUM: _gradient_sum,
}


def _taps(layer: Layer, padded: np.ndarray, kernel: tuple, stride: tuple, dilation: tuple = (1, 1)) -> list:
    """For each value of the window: its slices of the padded maps, one value for each window."""
    _, rows, columns = layer.shape
    taps = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            taps.append(
                (
                    slice(top, top + (rows - 1) * stride[0] + 1, stride[0]),
                    slice(left, left + (columns - 1) * stride[1] + 1, stride[1]),
                )
            )
    return taps


def _padded(layer: Layer, x: np.ndarray, window: tuple, stride: tuple, fill: float) -> np.ndarray:
    """The maps with padding, and with as much more as windows hang over the end."""
    top, left, bottom, right = layer.kind.padding
    over = [(layer.shape[n + 1] - 1) * stride[n] + window[n] for n in (0, 1)]
    more = [max(0, over[n] - x.shape[n + 2] - (top + bottom, left + right)[n]) for n in (0, 1)]
    return np.pad(x, ((0, 0), (0, 0), (top, bottom + more[0]), (left, right + more[1])), constant_values=fill)


def _cropped(layer: Layer, padded: np.ndarray) -> np.ndarray:
    top, left, _, _ = layer.kind.padding
    _, rows, columns = layer.input_shapes[0]
    return padded[:, :, top : top + rows, left : left + columns]


def _transposed_convolution(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    """Tap by tap: each input is added to an output, which is cut afterwards."""
    kind, (channels, rows, columns) = layer.kind, layer.input_shapes[0]
    if what is Pass.BACKWARD_BIAS:
        return {"dbias": read["dy"].sum(axis=(0, 2, 3))}
    top, left, bottom, right = kind.padding
    images = len(read["x"] if "x" in read else read["dy"])
    g, whole = kind.groups, (layer.shape[1] + top + bottom, layer.shape[2] + left + right)
    maps = np.zeros((images, g, kind.filters // g, *whole))
    cut = np.s_[:, :, :, top : top + layer.shape[1], left : left + layer.shape[2]]
    if "dy" in read:
        maps[cut] = read["dy"].reshape(images, g, -1, *layer.shape[1:])
    x = read["x"].reshape(images, g, -1, rows, columns) if "x" in read else None
    weight = read["weight"].reshape(g, channels // g, -1, *kind.kernel) if "weight" in read else None
    parts = []
    for r, c in np.ndindex(*kind.kernel):
        begin = r * kind.dilation[0], c * kind.dilation[1]
        met = maps[..., begin[0] :: kind.stride[0], begin[1] :: kind.stride[1]][..., :rows, :columns]
        if what is Pass.FORWARD:
            met += np.einsum("ngihw,gio->ngohw", x, weight[..., r, c])
        elif what is Pass.BACKWARD_WEIGHTS:
            parts.append(np.einsum("ngihw,ngohw->gio", x, met))
        else:
            parts.append(np.einsum("ngohw,gio->ngihw", met, weight[..., r, c]))
    if what is Pass.FORWARD:
        y = maps[cut].reshape(images, *layer.shape)
        return {"y": y + read["bias"][:, None, None] if "bias" in read else y}
    if what is Pass.BACKWARD_WEIGHTS:
        return {"dweight": np.stack(parts, axis=-1)}
    return {"dx": sum(parts).reshape(images, channels, rows, columns)}


def _convolution(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    kind = layer.kind
    if what is Pass.BACKWARD_BIAS:
        return {"dbias": read["dy"].sum(axis=(0, 2, 3))}
    reach = tuple(d * (k - 1) + 1 for d, k in zip(kind.dilation, kind.kernel, strict=True))
    x = read["x"] if "x" in read else np.zeros((len(read["dy"]), *layer.input_shapes[0]))
    padded = _padded(layer, x, reach, kind.stride, 0.0)
    taps = _taps(layer, padded, kind.kernel, kind.stride, kind.dilation)
    g, per_in, per_out = kind.groups, x.shape[1] // kind.groups, kind.filters // kind.groups
    grouped = padded.reshape(len(x), g, per_in, *padded.shape[2:])
    if what is Pass.FORWARD:
        weight = read["weight"].reshape(g, per_out, per_in, -1)
        y = sum(np.einsum("ngchw,goc->ngohw", grouped[..., r, c], weight[..., t]) for t, (r, c) in enumerate(taps))
        y = y.reshape(len(x), *layer.shape)
        return {"y": y + read["bias"][:, None, None] if "bias" in read else y}
    dy = read["dy"].reshape(len(x), g, per_out, *layer.shape[1:])
    if what is Pass.BACKWARD_WEIGHTS:
        parts = [np.einsum("ngchw,ngohw->goc", grouped[..., r, c], dy) for r, c in taps]
        return {"dweight": np.stack(parts, axis=-1)}
    weight = read["weight"].reshape(g, per_out, per_in, -1)
    gradient = np.zeros_like(grouped)
    for t, (r, c) in enumerate(taps):
        gradient[..., r, c] += np.einsum("ngohw,goc->ngchw", dy, weight[..., t])
    return {"dx": _cropped(layer, gradient.reshape(padded.shape))}


def _fully_connected(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    flat = {role: value.reshape(len(value), -1) for role, value in read.items() if role in ("x", "dy")}
    if layer.kind.each:
        flat = {role: value.reshape(-1, value.shape[-1]) for role, value in read.items() if role in ("x", "dy")}
    if what is Pass.FORWARD:
        return {"y": flat["x"] @ read["weight"].T + read.get("bias", 0)}
    if what is Pass.BACKWARD_WEIGHTS:
        return {"dweight": flat["dy"].T @ flat["x"]}
    return {"dbias": flat["dy"].sum(axis=0)} if what is Pass.BACKWARD_BIAS else {"dx": flat["dy"] @ read["weight"]}


def _expanded(weight: np.ndarray) -> np.ndarray:
    """The matrix of circulant blocks, each with its first column, [p, q, block]: rows and columns that fill up too."""
    p, q, k = weight.shape
    turned = np.stack([np.roll(weight, c, axis=-1) for c in range(k)], axis=-1)
    return turned.transpose(0, 2, 1, 3).reshape(p * k, q * k)


def _folded(matrix: np.ndarray, k: int) -> np.ndarray:
    """The gradient of blocks' first columns from that of the matrix."""
    p, q = -(-matrix.shape[0] // k), -(-matrix.shape[1] // k)
    filled = np.zeros((p * k, q * k))
    filled[: matrix.shape[0], : matrix.shape[1]] = matrix
    blocks = filled.reshape(p, k, q, k).transpose(0, 2, 1, 3)
    return sum(np.roll(blocks[..., c], -c, axis=-1) for c in range(k))


def _kept(rows: np.ndarray, k: int) -> np.ndarray:
    """What a layer keeps of rows of values: frequencies of their blocks, as pairs."""
    filled = np.pad(rows, ((0, 0), (0, -rows.shape[1] % k))).reshape(len(rows), -1, k)
    found = np.fft.rfft(filled)
    return np.stack([found.real, found.imag], axis=-1)


def _values(kept: np.ndarray, rows: int, width: int) -> np.ndarray:
    pairs = kept.reshape(rows, -1, *kept.shape[-2:])
    return np.fft.irfft(pairs[..., 0] + 1j * pairs[..., 1]).reshape(rows, -1)[:, :width]


def _block_circulant(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    """By the product with the matrix in full; frequencies are kept, and come back as values at once."""
    kind, shape = layer.kind, layer.input_shapes[0]
    k, is_convolution = kind.block, layer.kind_name == "block_circulant_convolution"
    outputs = kind.filters if is_convolution else kind.outputs
    depth = shape[0] * int(np.prod(kind.kernel)) if is_convolution else int(np.prod(shape))
    if what is Pass.BACKWARD_BIAS:
        return {"dbias": read["dy"].reshape(len(read["dy"]), outputs, -1).sum(axis=(0, 2))}
    positions = int(np.prod(layer.shape[1:]))

    def rows_of(x: np.ndarray) -> np.ndarray:
        if not is_convolution:
            return x.reshape(len(x), -1)
        reach = tuple(d * (size - 1) + 1 for d, size in zip(kind.dilation, kind.kernel, strict=True))
        padded = _padded(layer, x, reach, kind.stride, 0.0)
        met = [padded[:, :, r, c] for r, c in _taps(layer, padded, kind.kernel, kind.stride, kind.dilation)]
        return np.stack(met, axis=2).reshape(len(x), depth, positions).swapaxes(1, 2).reshape(-1, depth)

    def y_rows(y: np.ndarray) -> np.ndarray:
        return y.reshape(len(y), outputs, positions).swapaxes(1, 2).reshape(-1, outputs)

    if what is Pass.FORWARD:
        rows = rows_of(read["x"])
        y = rows @ _expanded(read["weight"])[:outputs, :depth].T + read.get("bias", 0)
        kept = _kept(read["weight"].reshape(-1, k), k).reshape(*read["weight"].shape[:2], -1, 2)
        width = kind.anatomy(layer.input_shapes).saved["weight_transform"].shape[1] if kind.keeps else kept.shape[1]
        kept = np.pad(kept, ((0, 0), (0, width - kept.shape[1]), (0, 0), (0, 0)))
        y = y.reshape(len(read["x"]), positions, outputs).swapaxes(1, 2)
        return {"y": y, "weight_transform": kept, "x_transform": _kept(rows, k)}
    if what is Pass.BACKWARD_WEIGHTS:
        dy = y_rows(read["dy"])
        rows = rows_of(read["x"]) if "x" in read else _values(read["x_transform"], len(dy), depth)
        return {"dweight": _folded(dy.T @ rows, k), "dy_transform": _kept(dy, k)}
    images = len(read["dy"] if "dy" in read else read["dy_transform"])
    dy = y_rows(read["dy"]) if "dy" in read else _values(read["dy_transform"], images * positions, outputs)
    weight = read.get("weight")
    if weight is None:
        kept = read["weight_transform"]
        weight = np.fft.irfft(kept[..., 0] + 1j * kept[..., 1])[:, : -(-depth // k)]
    drows = dy @ _expanded(weight)[:outputs, :depth]
    if not is_convolution:
        return {"dx": drows}
    reach = tuple(d * (size - 1) + 1 for d, size in zip(kind.dilation, kind.kernel, strict=True))
    gradient = np.zeros_like(_padded(layer, np.zeros((images, *shape)), reach, kind.stride, 0.0))
    by_tap = drows.reshape(images, *layer.shape[1:], shape[0], -1)
    for t, (r, c) in enumerate(_taps(layer, gradient, kind.kernel, kind.stride, kind.dilation)):
        gradient[:, :, r, c] += by_tap[..., t].transpose(0, 3, 1, 2)
    return {"dx": _cropped(layer, gradient)}


def _permuted_diagonal(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    """By the product with the matrix in full, which is made value by value."""
    (outputs,), inputs = layer.shape, int(np.prod(layer.input_shapes[0]))
    weights, k = layer.kind.anatomy(layer.input_shapes).parameters["weight"], layer.kind.block
    places = {}
    for i, j, r in np.ndindex(weights):
        row, column = i * k + r, j * k + (r + i + j) % k
        if row < outputs and column < inputs:
            places[i, j, r] = row, column
    if what is Pass.BACKWARD_BIAS:
        return {"dbias": read["dy"].sum(axis=0)}
    if what is Pass.BACKWARD_WEIGHTS:
        gradient, found = read["dy"].T @ read["x"].reshape(len(read["x"]), -1), np.zeros(weights)
        for place, at in places.items():
            found[place] = gradient[at]
        return {"dweight": found}
    matrix = np.zeros((outputs, inputs))
    for place, at in places.items():
        matrix[at] = read["weight"][place]
    if what is Pass.FORWARD:
        return {"y": read["x"].reshape(len(read["x"]), -1) @ matrix.T + read.get("bias", 0)}
    return {"dx": read["dy"] @ matrix}


def _pool(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    window = layer.kind.window(layer.input_shapes)
    stride = layer.kind.stride or window
    largest = layer.kind_name == "max_pool"
    x = read["x"] if "x" in read else np.zeros((len(read["dy"]), *layer.input_shapes[0]))
    padded = _padded(layer, x, window, stride, -np.inf if largest else 0.0)
    inside = _padded(layer, np.ones_like(x), window, stride, 0.0)
    taps = _taps(layer, padded, window, stride)
    if not largest and layer.kind.counts_padding:
        top, left, bottom, right = layer.kind.padding
        inside[:, :, : top + x.shape[2] + bottom, : left + x.shape[3] + right] = 1.0
    seen = [padded[:, :, r, c] for r, c in taps]
    counted = sum(inside[:, :, r, c] for r, c in taps)
    if what is Pass.FORWARD:
        if largest:
            return {"y": np.max(seen, axis=0), "places": np.argmax(seen, axis=0)}  # the first of equals
        return {"y": sum(seen) / counted}
    gradient = np.zeros_like(padded)
    for place, (r, c) in enumerate(taps):
        if largest:
            gradient[:, :, r, c] += (read["places"] == place) * read["dy"]
        else:
            gradient[:, :, r, c] += read["dy"] / counted
    return {"dx": _cropped(layer, gradient)}


def _lrn(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    kind, x = layer.kind, read["x"]
    near = np.array([[abs(i - j) <= kind.size // 2 for j in range(x.shape[1])] for i in range(x.shape[1])], float)
    scale = kind.k + kind.alpha / kind.size * np.einsum("ij,nj...->ni...", near, x**2)
    if what is Pass.FORWARD:
        return {"y": x / scale**kind.beta}
    shared = np.einsum("ij,nj...->ni...", near, read["dy"] * x / scale ** (1 + kind.beta))
    return {"dx": read["dy"] / scale**kind.beta - 2 * kind.alpha * kind.beta / kind.size * x * shared}


def _batch_norm(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    kind, x = layer.kind, read["x"]
    axes = (0, *range(2, x.ndim)) if kind.mode == "spatial" else (0,)
    wide = (1, -1, *[1] * (x.ndim - 2)) if kind.mode == "spatial" else (1, *x.shape[1:])
    scale = read["scale"].reshape(wide)
    if what is Pass.FORWARD and "mean" not in read:
        mean, variance = x.mean(axis=axes), x.var(axis=axes)
        inverse = 1 / np.sqrt(variance + kind.epsilon)
        y = scale * (x - mean.reshape(wide)) * inverse.reshape(wide) + read["bias"].reshape(wide)
        kept = {
            "running_mean": (1 - kind.momentum) * read["running_mean"] + kind.momentum * mean,
            "running_variance": (1 - kind.momentum) * read["running_variance"] + kind.momentum * variance,
        }
        return {"y": y, "mean": mean, "inverse_deviation": inverse, **kept}
    dy, inverse = read["dy"], read["inverse_deviation"].reshape(wide)
    normal = (x - read["mean"].reshape(wide)) * inverse
    dscale, dbias = (dy * normal).sum(axis=axes), dy.sum(axis=axes)
    count = x.size / dbias.size
    dx = scale * inverse * (dy - (dbias.reshape(wide) + normal * dscale.reshape(wide)) / count)
    return {"dx": dx, "dscale": dscale, "dbias": dbias}


def _pointwise(forward: Callable, slope: Callable) -> Callable:
    """Of y: the gradient of an activation function is a function of its result."""
    return lambda layer, what, read: (
        {"y": forward(read["x"])} if what is Pass.FORWARD else {"dx": read["dy"] * slope(read["y"])}
    )


def _dropout(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    stay = 1 - layer.kind.probability
    if what is Pass.FORWARD:
        mask = (np.random.default_rng(layer.kind.seed).random(read["x"].shape) < stay).astype(float)
        return {"y": read["x"] * mask / stay, "mask": mask}
    return {"dx": read["dy"] * read["mask"] / stay}


def _softmax_layer(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    axis = layer.kind.axis % len(layer.shape) + 1
    if what is Pass.FORWARD:
        return {"y": _softmax(read["x"].swapaxes(1, axis)).swapaxes(1, axis)}
    return {"dx": read["y"] * (read["dy"] - (read["dy"] * read["y"]).sum(axis=axis, keepdims=True))}


def _add(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    return {"y": np.sum(_inputs(read), axis=0)}


def _multiply(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    left, right = read["x0"], read["x1"]
    return {"y": left * right} if what is Pass.FORWARD else {"dx0": read["dy"] * right, "dx1": read["dy"] * left}


def _nudged(forward: Callable) -> Callable:
    """A function of x, and its slope by differences, which share nothing with the formula of the slope."""
    return lambda layer, what, read: (
        {"y": forward(layer.kind, read["x"])}
        if what is Pass.FORWARD
        else {"dx": read["dy"] * (forward(layer.kind, read["x"] + 1e-6) - forward(layer.kind, read["x"] - 1e-6)) / 2e-6}
    )


_erf = np.vectorize(math.erf, otypes=[float])


def _row_norm(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    kind, x = layer.kind, read["x"]
    groups = getattr(kind, "groups", 0)
    width = x[0].size // groups if groups else int(np.prod(x.shape[x.ndim - getattr(kind, "axes", 1) :]))
    rows = x.reshape(len(x), -1, width)

    def over(values: np.ndarray) -> np.ndarray:
        each = np.repeat(values.reshape(-1), rows[0].size // values.size) if groups else values
        return np.broadcast_to(each.reshape(-1, width), rows.shape[1:])

    scale = over(read["scale"])
    if what is Pass.FORWARD:
        mean = rows.mean(axis=-1) if layer.kind_name != "rms_norm" else np.zeros(rows.shape[:2])
        inverse = 1 / np.sqrt(((rows - mean[..., None]) ** 2).mean(axis=-1) + kind.epsilon)
        y = (rows - mean[..., None]) * inverse[..., None] * scale + (over(read["bias"]) if "bias" in read else 0.0)
        return {"y": y, "mean": mean, "inverse_deviation": inverse}
    inverse = read["inverse_deviation"].reshape(rows.shape[:2])[..., None]
    normal = (rows - read["mean"].reshape(rows.shape[:2])[..., None]) * inverse
    dy = read["dy"].reshape(rows.shape)
    g = dy * scale
    centre = g.mean(axis=-1, keepdims=True) if layer.kind_name != "rms_norm" else 0
    found = {"dx": inverse * (g - centre - normal * (g * normal).mean(axis=-1, keepdims=True))}
    for name, each in (("dscale", dy * normal), ("dbias", dy)):
        by_channel = each.reshape(len(x), read["scale"].size, -1).sum(axis=(0, 2)) if groups else each.sum(axis=(0, 1))
        found[name] = by_channel
    return found


def _combined(operation: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}[operation](a, b)


def _summed_to(shape: tuple[int, ...], whole: np.ndarray) -> np.ndarray:
    """What was repeated is added up."""
    return whole.sum(axis=tuple(k for k, size in enumerate(shape) if size != whole.shape[k]), keepdims=True)


def _combine(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    kind, axes = layer.kind, len(layer.shape)
    roles = ["x0", "x1"] if kind.stored is None else ["x", kind.role]
    shapes = [*layer.input_shapes, *([kind.stored] if kind.stored else [])]
    if kind.stored_first:
        roles, shapes = roles[::-1], shapes[::-1]
    images = len(next(value for role, value in read.items() if role in ("x", "x0", "dy")))
    operands = []
    for role, shape in zip(roles, shapes, strict=True):
        array = read.get(role, np.ones((images if role.startswith("x") else 1, *shape)))
        first = array.shape[:1] if role.startswith("x") else (1,)
        operands.append(array.reshape(*first, *(1,) * (axes - len(shape)), *shape))
    a, b = operands
    if what is Pass.FORWARD:
        return {"y": _combined(kind.operation, a, b)}
    slopes = {"add": (1, 1), "subtract": (1, -1), "multiply": (b, a), "divide": (1 / b, -a / b**2)}[kind.operation]
    return {
        f"d{role}": _summed_to(operand.shape, read["dy"] * slope)
        for operand, role, slope in zip(operands, roles, slopes, strict=True)
    }


def _matmul(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    axes = len(layer.shape) + 1
    x0, x1 = (read[r].reshape(len(read[r]), *(1,) * (axes - read[r].ndim), *read[r].shape[1:]) for r in ("x0", "x1"))
    right = x1.swapaxes(-1, -2) if layer.kind.turned else x1
    if what is Pass.FORWARD:
        return {"y": x0 @ right}
    dx0, dx1 = read["dy"] @ right.swapaxes(-1, -2), x0.swapaxes(-1, -2) @ read["dy"]
    dx1 = dx1.swapaxes(-1, -2) if layer.kind.turned else dx1
    return {"dx0": _summed_to(x0.shape, dx0), "dx1": _summed_to(x1.shape, dx1)}


def _attention(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    """By Einstein sums over heads that share keys."""
    q, k, v = (read[role] for role in ("x0", "x1", "x2"))
    images, shared, keys, width = k.shape
    q = q.reshape(images, shared, -1, *q.shape[2:])
    factor = layer.kind.factor if layer.kind.factor is not None else 1 / np.sqrt(width)
    scores = factor * np.einsum("nghqd,ngkd->nghqk", q, k)
    if layer.kind.causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:]), keys - q.shape[3]) > 0, scores, -1e30)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    if what is Pass.FORWARD:
        return {"y": np.einsum("nghqk,ngkd->nghqd", weights, v).reshape(read["x0"].shape)}
    dy = read["dy"].reshape(q.shape)
    dweights = np.einsum("nghqd,ngkd->nghqk", dy, v)
    dscores = factor * weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))
    return {
        "dx0": np.einsum("nghqk,ngkd->nghqd", dscores, k).reshape(read["x0"].shape),
        "dx1": np.einsum("nghqk,nghqd->ngkd", dscores, q),
        "dx2": np.einsum("nghqk,nghqd->ngkd", weights, dy),
    }


def _places(layer: Layer) -> np.ndarray:
    """For each value of an image's output, the place of the value that it is, -1 for none."""
    kind, shape = layer.kind, layer.input_shapes[0]
    at = np.arange(int(np.prod(shape))).reshape(shape)
    if layer.kind_name == "permute":
        return at.transpose(kind.order)
    if layer.kind_name == "slice":
        return at.take(range(*slice(kind.start, kind.end, kind.step).indices(shape[kind.axis])), axis=kind.axis)
    if layer.kind_name == "pad":
        return np.pad(at, list(zip(kind.before, kind.after, strict=True)), constant_values=-1)
    return np.broadcast_to(at, layer.shape)


def _move(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    (x,) = read.values()
    places = _places(layer).reshape(-1)
    rows = x.reshape(len(x), -1)
    if what is Pass.FORWARD:
        return {"y": np.where(places >= 0, rows[:, places], getattr(layer.kind, "value", 0.0))}
    dx = np.zeros((len(x), int(np.prod(layer.input_shapes[0]))))
    for image in range(len(x)):
        np.add.at(dx[image], places[places >= 0], rows[image][places >= 0])
    return {"dx": dx}


def _reduce(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    shape, kind = layer.input_shapes[0], layer.kind
    axes = tuple(axis % len(shape) + 1 for axis in kind.axes)
    share = 1 / np.prod([shape[axis - 1] for axis in axes]) if kind.operation == "mean" else 1.0
    if what is Pass.FORWARD:
        return {"y": read["x"].sum(axis=axes) * share}
    kept = [1 if k + 1 in axes else size for k, size in enumerate(shape)]
    return {"dx": np.broadcast_to(read["dy"].reshape(len(read["dy"]), *kept) * share, (len(read["dy"]), *shape))}


def _causal_mask(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    (x,) = read.values()
    queries, keys = x.shape[-2:]
    seen = np.tril(np.ones((queries, keys)), keys - queries) > 0
    return {"y": np.where(seen, x, -1e30)} if what is Pass.FORWARD else {"dx": np.where(seen, x, 0.0)}


def _rotary(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    """By complex numbers."""
    (x,) = read.values()
    half = x.shape[-1] // 2
    angles = (np.arange(x.shape[-2])[:, None] + layer.kind.first) * layer.kind.base ** (-np.arange(half) / half)
    turn = np.exp(1j * angles * (1 if what is Pass.FORWARD else -1))
    turned = (x[..., :half] + 1j * x[..., half:]) * turn
    return {"y" if what is Pass.FORWARD else "dx": np.concatenate([turned.real, turned.imag], axis=-1)}


def _stored(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    return {"y": read["weight"][None]} if what is Pass.FORWARD else {"dweight": read["dy"].sum(axis=0)}


def _embedding(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    numbers = read["x"].astype(int)
    if what is Pass.FORWARD:
        return {"y": read["weight"][numbers]}
    dweight = np.zeros((layer.kind.rows, layer.kind.width))
    np.add.at(dweight, numbers, read["dy"].reshape(*numbers.shape, -1))
    return {"dweight": dweight}


def _concat(layer: Layer, what: Pass, read: Arrays) -> Arrays:
    axis = layer.kind.axis % len(layer.shape)
    if what is Pass.FORWARD:
        return {"y": np.concatenate(_inputs(read), axis=axis + 1)}
    ends = np.cumsum([shape[axis] for shape in layer.input_shapes])[:-1]
    parts = np.split(read["dy"], ends, axis=axis + 1)
    return {"dx": parts[0]} | {f"dx{n}": part for n, part in enumerate(parts)}


_OF_KIND: dict[str, Callable[[Layer, Pass, Arrays], Arrays]] = {
    "convolution": _convolution,
    "transposed_convolution": _transposed_convolution,
    "fully_connected": _fully_connected,
    "block_circulant": _block_circulant,
    "block_circulant_convolution": _block_circulant,
    "permuted_diagonal": _permuted_diagonal,
    "max_pool": _pool,
    "average_pool": _pool,
    "lrn": _lrn,
    "batch_norm": _batch_norm,
    "relu": _pointwise(lambda x: np.maximum(x, 0), lambda y: y > 0),
    "sigmoid": _pointwise(lambda x: 1 / (1 + np.exp(-x)), lambda y: y * (1 - y)),
    "tanh": _pointwise(np.tanh, lambda y: 1 - y**2),
    "clip": _nudged(lambda k, x: np.clip(x, k.least, k.most)),
    "leaky_relu": _nudged(lambda k, x: np.where(x > 0, x, k.slope * x)),
    "hard_sigmoid": _nudged(lambda k, x: np.clip(k.slope * x + k.shift, 0, 1)),
    "hard_swish": _nudged(lambda k, x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "silu": _nudged(lambda k, x: x / (1 + np.exp(-x))),
    "gelu": _nudged(
        lambda k, x: (
            x * (1 + _erf(x / 2**0.5)) / 2
            if k.approximate == "none"
            else x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2
        )
    ),
    "affine": _nudged(lambda k, x: k.factor * x + k.shift),
    "square": _nudged(lambda k, x: x**2),
    "square_root": _nudged(lambda k, x: np.sqrt(x)),
    "reciprocal": _nudged(lambda k, x: 1 / x),
    "exponential": _nudged(lambda k, x: np.exp(x)),
    "erf": _nudged(lambda k, x: _erf(x)),
    "layer_norm": _row_norm,
    "rms_norm": _row_norm,
    "group_norm": _row_norm,
    "combine": _combine,
    "matmul": _matmul,
    "attention": _attention,
    "permute": _move,
    "slice": _move,
    "pad": _move,
    "repeat": _move,
    "reduce": _reduce,
    "causal_mask": _causal_mask,
    "rotary": _rotary,
    "stored": _stored,
    "embedding": _embedding,
    "dropout": _dropout,
    "softmax": _softmax_layer,
    "add": _add,
    "multiply": _multiply,
    "concat": _concat,
    "bypass": lambda layer, what, read: {"y": read["x"]} if what is Pass.FORWARD else {"dx": read["dy"]},
}

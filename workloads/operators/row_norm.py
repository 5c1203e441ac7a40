"""Normalisation of rows: layer norm and RMS norm of a position's features, group norm of groups of channels.

y = scale (x - mean) / sqrt(variance + epsilon) + bias over each row (Ba et al. 2016; Wu and He 2018); RMS norm takes no
mean away and adds no bias (Zhang and Sennrich 2019).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from isa.launch import Launch
from workloads.operators.channels import WAVEFRONT
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import DivisionAxis, LaunchTuple, Primitive, ReferenceValue
from workloads.operators.reductions import (
    LANES_WANTED,
    LEAST_COLUMN,
    ReductionStep,
    chain,
    launches_of,
    longest_of,
    scratch_of,
)
from workloads.operators.tensor import Operand, Tensor, positive
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

SHORT_ROW = 1024  # elements: up to here a wavefront has a row, from there on a workgroup


@dataclass(frozen=True)
class _RowNorm(Primitive):
    """Normalisation of x [N, ...] by rows of as many elements as the last `axes` axes have; with groups, x is
    [N, C, ...], and a row has C / groups channels.
    """

    shape: Shape
    axes: int = 1
    groups: int = 0
    centred: bool = True
    biased: bool = True
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        if self.groups and (len(self.shape) < 2 or self.shape[1] % self.groups):
            raise self.refuse(f"x has shape {list(self.shape)}; its channels must divide into {self.groups} groups")
        if not self.groups and not 1 <= self.axes < len(self.shape):
            raise self.refuse(f"axes is {self.axes}; {list(self.shape)} allows 1 to {len(self.shape) - 1}")
        if not self.epsilon > 0:
            raise self.refuse(f"epsilon is {self.epsilon}; it must be larger than 0")

    @property
    def kind(self) -> str:
        """The name without its pass."""
        return "group norm" if self.groups else "layer norm" if self.centred else "RMS norm"

    @property
    def width(self) -> int:
        """Elements of a row."""
        return prod(self.shape[1:]) // self.groups if self.groups else prod(self.shape[-self.axes :])

    @property
    def rows(self) -> int:
        """The number of rows."""
        return prod(self.shape) // self.width

    @property
    def size(self) -> int:
        """Neighbouring elements of a row that have the same scale."""
        return prod(self.shape[2:]) if self.groups else 1

    @property
    def channels(self) -> int:
        """The number of scales."""
        return self.shape[1] if self.groups else self.width

    @property
    def x(self) -> Operand:
        """The operand that is normalized."""
        return Operand(self.shape)

    @property
    def of_channel(self) -> Operand:
        """Scale or bias, or the gradient of one."""
        return Operand(self.shape[1:2] if self.groups else self.shape[-self.axes :], by_image=False)

    @property
    def of_row(self) -> Operand:
        """A number for each row, by images."""
        return Operand((self.shape[0], self.rows // self.shape[0]))

    @property
    def parameters(self) -> Mapping[str, Operand]:
        """Scale, and bias if there is one."""
        return {"scale": self.of_channel} | ({"bias": self.of_channel} if self.biased else {})

    @property
    def longest(self) -> int:
        """Additions, at most, that an element's value goes through in a row's sum."""
        lanes = WAVEFRONT if self.width <= SHORT_ROW else GROUP
        return -(-self.width // lanes) + 6 + GROUP // WAVEFRONT

    def launch_rows(self, kernel: str, values: Mapping[str, object], memory: object) -> Launch:
        """Return the launch of a kernel with a wavefront or a workgroup for each row."""
        short = self.width <= SHORT_ROW
        groups = -(-self.rows * WAVEFRONT // GROUP) if short else self.rows
        repeats = max(self.groups, 1)
        shape = np.concatenate(
            [
                np.array([self.rows, self.width, self.channels // repeats], np.uint32),
                divisor(repeats),
                divisor(self.size),
            ]
        )
        values = {**values, "shape": shape, "centred": float(self.centred)}
        return launch("row_norm", f"{kernel}_{'wavefront' if short else 'workgroup'}", memory, (groups,), values)  # type: ignore[arg-type]

    def by_rows(self, x: np.ndarray) -> np.ndarray:
        """Return an array of images as rows in FP64."""
        return x.astype(np.float64).reshape(-1, self.width)

    def over_rows(self, values: np.ndarray, rows: int) -> np.ndarray:
        """Return scales or biases in FP64, for each element of so many rows."""
        each = np.repeat(values.reshape(-1).astype(np.float64), self.size).reshape(max(self.groups, 1), self.width)
        return np.tile(each, (rows // len(each), 1))


@dataclass(frozen=True)
class RowNormForward(_RowNorm):
    """y, and where `keep` mean and inverse deviation of each row for the backward pass."""

    keep: bool = False
    """Write mean and inverse deviation of each row."""

    @property
    def name(self) -> str:
        return f"{self.kind} forward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"x": self.x, **self.parameters}

    @property
    def gives(self) -> Mapping[str, Operand]:
        kept = {"mean": self.of_row, "inverse_deviation": self.of_row} if self.keep else {}
        return {"y": self.x, **kept}

    @property
    def macs(self) -> int:
        return self.x.size

    @property
    def operations(self) -> int:
        return (4 if self.centred else 2) * self.x.size

    def backward(self) -> "RowNormBackward":
        if not self.keep:
            raise self.refuse("there is no backward pass without the rows' means and deviations")
        return RowNormBackward(self.shape, self.axes, self.groups, self.centred, self.biased, self.epsilon)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        y = tensors["y"]
        values = {
            **{name: tensors.get(name, y) for name in ("x", "scale", "bias", "y", "mean", "inverse_deviation")},
            "epsilon": self.epsilon,
            "biased": int(self.biased),
            "keep": int(self.keep),
        }
        return (self.launch_rows("norm", values, y.memory),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        """Compute the definition; the bounds follow the errors of mean and variance through the formula."""
        x = self.by_rows(inputs["x"])
        mean = x.mean(axis=1, keepdims=True) * self.centred
        away = x - mean
        variance = np.square(away).mean(axis=1, keepdims=True)
        inverse = 1.0 / np.sqrt(variance + self.epsilon)
        sums = (self.longest + 4) * UNIT_ROUNDOFF
        off = sums * np.abs(x).mean(axis=1, keepdims=True) * self.centred + SMALLEST_NORMAL
        off_away = off + 2 * UNIT_ROUNDOFF * np.abs(x).max(axis=1, keepdims=True)
        variance_bound = sums * variance + 4 * np.sqrt(variance) * off_away + off_away**2
        relative = 0.5 * variance_bound * inverse**2 + 4 * UNIT_ROUNDOFF
        scale = self.over_rows(inputs["scale"], len(x))
        bias = self.over_rows(inputs["bias"], len(x)) if self.biased else np.zeros_like(x)
        y = away * inverse * scale
        bound = relative * np.abs(y) + np.abs(scale) * inverse * off_away
        bound += 4 * UNIT_ROUNDOFF * (np.abs(y) + np.abs(bias)) + SMALLEST_NORMAL
        shape, images = inputs["x"].shape, len(inputs["x"])
        references = {"y": ReferenceValue((y + bias).reshape(shape), bound.reshape(shape))}
        if self.keep:
            references["mean"] = ReferenceValue(mean.reshape(images, -1), off.reshape(images, -1) * self.centred)
            deviations = (inverse.reshape(images, -1), (relative * inverse).reshape(images, -1))
            references["inverse_deviation"] = ReferenceValue(*deviations)
        return references


@dataclass(frozen=True)
class RowNormBackward(_RowNorm):
    """dx, dscale and dbias from x, dy and what the forward pass kept."""

    divisible = DivisionAxis.NOTHING

    @property
    def name(self) -> str:
        return f"{self.kind} backward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        kept = {"mean": self.of_row, "inverse_deviation": Operand(self.of_row.shape, data=positive)}
        return {"x": self.x, "dy": self.x, "scale": self.of_channel, **kept}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {"dx": self.x, **{f"d{name}": operand for name, operand in self.parameters.items()}}

    @property
    def _length(self) -> int:
        """Rows of a part of the first step, where it goes over rows."""
        parts = max(1, min(self.rows // LEAST_COLUMN, LANES_WANTED // self.width))
        return -(-self.rows // parts)

    @property
    def _parts(self) -> int:
        """Sums of each channel that the first step leaves."""
        return self.shape[0] if self.groups else -(-self.rows // self._length)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        sums = Operand((self._parts, self.channels), by_image=False)
        found = {"scale_sums": sums} if self._parts > 1 else {}
        if self._parts > 1 or not self.biased:
            found["bias_sums"] = sums
        for name in self.parameters if self._parts > 1 else ():
            found |= {f"{name}.{key}": operand for key, operand in scratch_of(self._steps).items()}
        return found

    @property
    def _steps(self) -> tuple[ReductionStep, ...]:
        """The geometry of what adds up the first step's sums."""
        return chain(1, self._parts, self.channels)

    @property
    def macs(self) -> int:
        return 2 * self.x.size

    @property
    def operations(self) -> int:
        return 6 * self.x.size

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        memory = tensors["x"].memory
        read = {name: tensors[name] for name in ("x", "dy", "mean", "inverse_deviation")}
        targets = {name: tensors.get(f"d{name}") for name in ("scale", "bias")}
        sums = {f"{name}_sums": tensors.get(f"{name}_sums", targets[name]) for name in targets}
        launches = [self.launch_rows("norm_backward", {**read, "scale": tensors["scale"], "dx": tensors["dx"]}, memory)]
        if self.groups:
            planes = self.shape[0] * self.channels
            values: dict[str, object] = {**read, **sums, "planes": planes, "size": self.size}
            values["by_channels"] = divisor(self.channels // self.groups)
            groups = -(-planes * WAVEFRONT // GROUP)
            launches.append(launch("row_norm", "norm_gradients_planes", memory, (groups,), values))
        else:
            n = self._parts * self.width
            values = {
                **read,
                **sums,
                "rows": self.rows,
                "length": self._length,
                "by_width": divisor(self.width),
                "n": n,
            }
            launches.append(launch("row_norm", "norm_gradients_columns", memory, (-(-n // GROUP),), values))
        for name, target in targets.items():
            source = sums[f"{name}_sums"]
            if self._parts > 1 and target is not None and source is not None:
                scratch = {key.removeprefix(f"{name}."): tensor for key, tensor in tensors.items()}
                launches += launches_of(self._steps, source, target, scratch)
        return tuple(launches)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x, dy = self.by_rows(inputs["x"]), self.by_rows(inputs["dy"])
        mean, inverse = (inputs[name].astype(np.float64).reshape(-1, 1) for name in ("mean", "inverse_deviation"))
        normal = (x - mean) * inverse
        gradient = dy * self.over_rows(inputs["scale"], len(x))
        through_mean = gradient.mean(axis=1, keepdims=True) * self.centred
        through_deviation = (gradient * normal).mean(axis=1, keepdims=True)
        dx = inverse * (gradient - through_mean - normal * through_deviation)
        sums = (self.longest + 8) * UNIT_ROUNDOFF
        size = np.abs(gradient) + np.abs(through_mean) + np.abs(normal * through_deviation)
        off = np.abs(gradient).mean(axis=1, keepdims=True)
        off = off + np.abs(normal) * np.abs(gradient * normal).mean(axis=1, keepdims=True)
        bound = inverse * (10 * UNIT_ROUNDOFF * size + sums * off) + SMALLEST_NORMAL
        references = {"dx": ReferenceValue(dx.reshape(self.shape), bound.reshape(self.shape))}
        part = -(-self.size // WAVEFRONT) + 7 if self.groups else self._length
        terms = (part + longest_of(self._steps) + 8) * UNIT_ROUNDOFF
        for name, each in {"dscale": dy * normal, "dbias": dy}.items():
            if name not in self.gives:
                continue
            total, magnitude = (
                values.reshape(-1, self.channels, self.size).sum(axis=(0, 2)).reshape(self.of_channel.shape)
                for values in (each, np.abs(each))
            )
            references[name] = ReferenceValue(total, terms * magnitude + SMALLEST_NORMAL)
        return references

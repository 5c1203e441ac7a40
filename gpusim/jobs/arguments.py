"""Arguments of `gpusim exec`: arrays and numbers from their descriptions in the execution's file."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np

from gpusim.base.errors import UserError
from gpusim.config.exec import ArgumentSpec, ScalarType, resolve_path
from gpusim.jobs.api.device import Device
from gpusim.jobs.api.device_array import DeviceArray
from isa import argument_types
from isa.kernarg import Local, explicit
from isa.object.code_object import Kernel
from isa.object.kernel_metadata import KernelArgument
from workloads.operators.verify import ReferencePart


def fill_in_types(kernel: Kernel, arguments: Mapping[str, ArgumentSpec], path: Path) -> dict[str, ArgumentSpec]:
    """Give each argument without a dtype the type that the code object names.

    Args:
        kernel: the kernel.
        arguments: descriptions by name, in order where the code object has no names.
        path: the execution's file.

    Returns:
        The descriptions, each with a dtype where it has numbers.

    Raises:
        UserError: the kernel has no such argument; the code object does not say the type, or names one that no dtype
            stands for.
    """
    known = explicit(kernel)
    named = {argument.name: argument for argument in known}
    if not all(named) or len(named) < len(known):
        named = dict(zip(arguments, known, strict=False))
    elif named and (unknown := [name for name in arguments if name not in named]):
        raise UserError(f"{path}: arguments: unknown argument '{unknown[0]}'; allowed: {', '.join(named)}")
    return {
        name: spec.model_copy(update={"dtype": _find_type(f"{path}: arguments.{name}", named.get(name))})
        if spec.is_typed and spec.dtype is None
        else spec
        for name, spec in arguments.items()
    }


def _find_type(where: str, argument: KernelArgument | None) -> str:
    """Return the dtype of an argument's elements, or of its value, as the code object's metadata has it."""
    allowed = get_args(ScalarType)
    if argument is None:
        raise UserError(
            f"{where}: dtype is required: the code object has no such argument, or does not describe it"
            f" (allowed: {', '.join(allowed)})"
        )
    is_value = argument.kind == "by_value"
    number_type = argument_types.by_value(argument) if is_value else argument_types.pointee(argument)
    scalar = number_type is not None and (number_type.width == 1 or not is_value)  # an array may be one of vectors
    if number_type is None or not scalar or number_type.scalar.name not in allowed:
        text = argument.type_name or argument.value_type or "nothing"
        raise UserError(
            f"{where}: dtype is required: the code object names {text} as the type (allowed: {', '.join(allowed)})"
        )
    return number_type.scalar.name


def build_argument(device: Device, name: str, spec: ArgumentSpec, path: Path) -> Any:
    """Return what a launch passes for the argument: an array, an image, a sampler, a number, Local or None.

    path: the execution's file.
    """
    if spec.local_bytes is not None:
        return Local(spec.local_bytes)
    if spec.null:
        return None
    if spec.value is not None:
        return _number(f"{path}: arguments.{name}.value", spec.value, spec.dtype or "")[()]
    if spec.sampler is not None:
        return device.sampler(**spec.sampler.model_dump(), name=name)
    if spec.npy is not None:
        values = _loaded(resolve_path(spec.npy, path))
        return device.array(values, name=name) if spec.image is None else _image(device, name, spec, values)
    shape = spec.shape or ()
    if spec.fill is not None:
        element = _number(f"{path}: arguments.{name}.fill", spec.fill, spec.dtype or "")
        array = _zeros(device, name, spec)
        if element:
            array.write(element)
        return array
    array = _zeros(device, name, spec)  # before the numbers: device memory may be too small for them
    array.write(_random(f"{path}: arguments.{name}", spec, shape))
    return array


def _zeros(device: Device, name: str, spec: ArgumentSpec) -> DeviceArray:
    if spec.image is None:
        return device.zeros(spec.shape or (), spec.dtype, name=name)
    return _image(device, name, spec, np.broadcast_to(np.zeros((), spec.dtype), spec.shape or ()))


def _image(device: Device, name: str, spec: ArgumentSpec, values: np.ndarray) -> DeviceArray:
    return device.image(values, spec.image or "", fractions=spec.fractions, name=name)


def load_expected(array: DeviceArray, spec: ArgumentSpec, path: Path) -> ReferencePart:
    """Return the values that the array should have after the kernel, with the allowed difference."""
    wanted = _wanted(array, spec.expected, path)
    bound = spec.absolute + spec.relative * np.abs(np.nan_to_num(wanted.astype(np.float64)))
    return ReferencePart(array.name, (slice(None),) * wanted.ndim, wanted, bound)


def _wanted(array: DeviceArray, expected: str | int | float | None, path: Path) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise UserError(f"{path}: arguments.{array.name}: elements of type {array.dtype} cannot be compared")
    if not isinstance(expected, str):
        return np.broadcast_to(np.asarray(expected), array.shape)
    where = resolve_path(expected, path)
    values = _loaded(where)
    if values.shape != array.shape:
        raise UserError(f"{where}: has shape {values.shape}, the array '{array.name}' has {array.shape}")
    if values.dtype.kind not in "biuf":
        raise UserError(f"{where}: elements of type {values.dtype} cannot be compared")
    return values


def _number(where: str, value: int | float, dtype: str) -> np.ndarray:
    """Return a number as an array of the type; raises UserError if the type cannot hold it (exactly, if it is an
    integer type).
    """
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        if not math.isfinite(value) or value != int(value) or not least <= value <= most:
            raise UserError(f"{where}: {value} is not allowed: must be a whole number from {least} to {most} ({dtype})")
        return np.array(int(value), kind)
    try:
        with np.errstate(over="ignore"):
            number = np.array(float(value), kind)
    except OverflowError:  # a whole number beyond every real one
        number = np.array(math.inf, kind)
    if np.isinf(number) and not (isinstance(value, float) and math.isinf(value)):
        raise UserError(f"{where}: {value} is too large for {dtype}")
    return number


def _random(where: str, spec: ArgumentSpec, shape: tuple[int, ...]) -> np.ndarray:
    kind = np.dtype(spec.dtype)
    rng = np.random.default_rng(spec.seed)
    if spec.random == "integers":
        for bound in (spec.low, spec.high - 1):
            _number(where, bound, spec.dtype or "")
            _number(where, bound, "int64")
        return rng.integers(int(spec.low), int(spec.high), shape).astype(kind)
    if kind.kind != "f":
        raise UserError(
            f"{where}: random: {spec.random} gives real numbers, {spec.dtype} holds whole ones: use integers"
        )
    if spec.random == "normal":
        return rng.standard_normal(shape).astype(kind)
    return (spec.low + (spec.high - spec.low) * rng.random(shape)).astype(kind)


def _loaded(path: Path) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise
    except Exception:  # readers of archives raise all kinds on a damaged file
        raise UserError(f"{path}: holds no array as numpy.save writes it") from None
    if not isinstance(array, np.ndarray):
        raise UserError(f"{path}: is an archive of arrays (.npz), expected one array (.npy)")
    return array

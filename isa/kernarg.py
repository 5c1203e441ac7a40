"""Kernel argument blocks: values checked against the code object's metadata and laid out as it says.

Kinds and offsets are those of the LLVM AMDGPU guide, section "Code Object Metadata". Hidden arguments that are facts of
the launch (group counts and sizes, remainders, dimensions) are filled in when the launch is laid out in device memory;
here the global offset is; the rest stay 0: there is no printf buffer, no heap, no host to call.
"""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpusim.base.errors import UserError
from isa import argument_types
from isa.image_resource import IMAGE_KINDS
from isa.object.names import short

if TYPE_CHECKING:
    from isa.object.code_object import Kernel
    from isa.object.kernel_metadata import KernelArgument

IMAGE_TYPES = tuple(f"image{kind}_t" for kind in IMAGE_KINDS)
LDS_ALIGNMENT_BYTES = 16  # of each dynamic LDS argument: the widest LDS access


class KernargError(UserError):
    """Arguments that do not fit the kernel; the message names argument, what is expected and what was found."""


@dataclass(frozen=True)
class Pointer:
    """A device address, for an argument that points to global memory."""

    address: int
    """Device address; 0: the null pointer."""
    dtype: np.dtype | None = None
    """Type of the elements, checked against the argument's; None: not checked."""

    def __post_init__(self) -> None:
        if isinstance(self.address, bool) or not isinstance(self.address, int | np.integer):
            raise KernargError(f"gpusim.Pointer takes an address, not {type(self.address).__name__}")


@dataclass(frozen=True)
class Local:
    """Dynamic LDS of `size_bytes`, for an argument that points to local memory."""

    size_bytes: int
    """Bytes of LDS."""

    def __post_init__(self) -> None:
        if isinstance(self.size_bytes, bool) or not isinstance(self.size_bytes, int | np.integer):
            raise KernargError(f"gpusim.Local takes a size in bytes, not {type(self.size_bytes).__name__}")
        if self.size_bytes < 0:
            raise KernargError(f"gpusim.Local({self.size_bytes}): a size cannot be negative")


@dataclass(frozen=True)
class ImageWords:
    """A device address of image words in the layout of isa/image_resource.py."""

    address: int
    """Device address."""
    type_name: str
    """Image type in OpenCL C."""


@dataclass(frozen=True)
class SamplerWords:
    """The device address of the words of a sampler."""

    address: int
    """Device address."""


class Kernarg(NamedTuple):
    """A packed argument block."""

    block: bytes
    """Contents."""
    dynamic_lds_bytes: int
    """LDS for its arguments after the kernel's own, in bytes."""


_WORDS_OF_KINDS: dict[str, type[ImageWords] | type[SamplerWords]] = {"image": ImageWords, "sampler": SamplerWords}


def explicit(kernel: "Kernel") -> list["KernelArgument"]:
    """Return the arguments that a caller passes, in order."""
    return [argument for argument in kernel.arguments if not argument.kind.startswith("hidden_")]


def signature(kernel: "Kernel") -> str:
    """Return the kernel's signature as text, as far as the metadata gives types and names.

    Such as 'name(float* a, uint n, float* tile: gpusim.Local)'; C++ names are without their parameters.
    """
    parts = [" ".join(filter(None, (a.type_name or _kind_text(a), a.name))) + _passed_as(a) for a in explicit(kernel)]
    return f"{short(kernel.name)}({', '.join(parts)})"


def _kernel_text(kernel: "Kernel") -> str:
    return f"kernel '{short(kernel.name)}'"


def _passed_as(argument: "KernelArgument") -> str:
    return ": gpusim.Local" if argument.kind == "dynamic_shared_pointer" else ""


def in_order(kernel: "Kernel", values: Mapping[str, Any]) -> list[Any]:
    """Return values given by name in the kernel's order; in their own order where the metadata gives no names."""
    names = [argument.name for argument in explicit(kernel)]
    if not all(names):
        return list(values.values())
    if set(names) != set(values):
        given = sorted(map(str, values))
        what = f"takes {sorted(names)}, the launch gives {given}: {signature(kernel)}"
        raise KernargError(f"{_kernel_text(kernel)} {what}")
    return [values[name] for name in names]


def pack(
    kernel: "Kernel", values: Sequence[Any] | Mapping[str, Any], global_offset: tuple[int, int, int] = (0, 0, 0)
) -> Kernarg:
    """Build the argument block.

    Args:
        kernel: the kernel.
        values: in order or by name: a Pointer or None for global memory, a Local for local memory, ImageWords for an
            image, SamplerWords for a sampler; by value a NumPy scalar, array or `bytes` of the argument's size, or a
            Python number where the argument is a scalar.
        global_offset: number of the first work-item in each dimension.

    Returns:
        The block.

    Raises:
        KernargError: a value does not fit; types of elements and images are checked where the metadata names them.
    """
    ordered = in_order(kernel, values) if isinstance(values, Mapping) else list(values)
    arguments = explicit(kernel)
    if not kernel.arguments and kernel.kernarg_bytes:
        raise KernargError(
            f"{_kernel_text(kernel)}: the code object does not describe its arguments; pass the whole block of"
            f" {kernel.kernarg_bytes} bytes with kernarg=bytes"
        )
    if len(ordered) != len(arguments):
        raise KernargError(
            f"{_kernel_text(kernel)} takes {len(arguments)} arguments, {len(ordered)} given: {signature(kernel)}"
        )
    block = bytearray(kernel.kernarg_bytes)
    lds_end = kernel.lds_bytes
    for index, (argument, value) in enumerate(zip(arguments, ordered, strict=True)):
        where = f"{_kernel_text(kernel)}, argument {index}" + (f" '{argument.name}'" if argument.name else "")
        if argument.kind == "global_buffer":
            raw = _pointer(where, argument, value).to_bytes(8, "little")
        elif argument.kind == "dynamic_shared_pointer":
            if not isinstance(value, Local):
                raise _mismatch(where, argument, value)
            alignment = max(LDS_ALIGNMENT_BYTES, argument.alignment)
            start = -(-lds_end // alignment) * alignment
            lds_end = start + int(value.size_bytes)
            raw = start.to_bytes(8, "little")
        elif argument.kind == "by_value":
            raw = _by_value(where, argument, value)
        elif argument.kind in _WORDS_OF_KINDS:
            raw = _words(where, argument, value).to_bytes(8, "little")
        else:
            raise KernargError(f"{where}: arguments of kind '{argument.kind}' are not supported")
        block[argument.offset : argument.offset + argument.size] = raw[: argument.size]
    for axis, offset in zip("xyz", global_offset, strict=True):
        _fill_hidden(kernel, block, f"hidden_global_offset_{axis}", offset)
    return Kernarg(bytes(block), lds_end - kernel.lds_bytes)


def pack_undescribed(kernel: "Kernel", values: Sequence[Any]) -> Kernarg:
    """Build the argument block for a code object without metadata.

    Args:
        kernel: the kernel.
        values: in order, each at a multiple of its size, as in C: a Pointer, None, a Local (4 bytes) or a NumPy scalar.

    Returns:
        The block.

    Raises:
        KernargError: a value does not fit.
    """
    block = bytearray()
    lds_end = kernel.lds_bytes
    for index, value in enumerate(values):
        if isinstance(value, Local):
            start = -(-lds_end // LDS_ALIGNMENT_BYTES) * LDS_ALIGNMENT_BYTES
            lds_end = start + int(value.size_bytes)
            raw = start.to_bytes(4, "little")
        elif value is None or isinstance(value, Pointer):
            raw = (value.address if value else 0).to_bytes(8, "little")
        elif isinstance(value, np.generic):
            raw = value.tobytes()
        else:
            raise KernargError(f"{_kernel_text(kernel)}, argument {index}: {_found(value)} has no size of its own")
        block += bytes(-len(block) % len(raw)) + raw
    if kernel.kernarg_bytes and len(block) > kernel.kernarg_bytes:
        raise KernargError(
            f"{_kernel_text(kernel)} takes {kernel.kernarg_bytes} bytes of arguments, those given fill {len(block)}"
        )
    return Kernarg(bytes(block).ljust(kernel.kernarg_bytes, b"\0"), lds_end - kernel.lds_bytes)


def _fill_hidden(kernel: "Kernel", block: bytearray, kind: str, value: int) -> None:
    matching = [argument for argument in kernel.arguments if argument.kind == kind]
    if value and not matching:
        raise KernargError(
            f"{_kernel_text(kernel)} takes no {kind.removeprefix('hidden_').replace('_', ' ')}: it cannot be {value}"
        )
    for argument in matching:
        block[argument.offset : argument.offset + argument.size] = value.to_bytes(8, "little")[: argument.size]


def _pointer(where: str, argument: "KernelArgument", value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, Pointer):
        raise _mismatch(where, argument, value)
    wanted = argument_types.pointee(argument)
    if wanted is not None and value.dtype is not None and not wanted.may_hold(value.dtype):
        raise KernargError(
            f"{where}: expected a device array of {wanted.scalar}{_named(argument)}, found one of {value.dtype};"
            " array.pointer() passes its address unchecked"
        )
    if not 0 <= value.address < 1 << 64:
        raise KernargError(f"{where}: {value.address:#x} is no address of 64 bits")
    return int(value.address)


def _words(where: str, argument: "KernelArgument", value: Any) -> int:
    if argument.kind == "image" and argument.type_name not in ("", *IMAGE_TYPES):
        raise KernargError(f"{where}: {argument.type_name} is not supported: {', '.join(IMAGE_TYPES)} are")
    if not isinstance(value, _WORDS_OF_KINDS[argument.kind]):
        raise _mismatch(where, argument, value)
    if isinstance(value, ImageWords) and argument.type_name not in ("", value.type_name):
        raise _mismatch(where, argument, value)
    return value.address


def _by_value(where: str, argument: "KernelArgument", value: Any) -> bytes:
    wanted = argument_types.by_value(argument)
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
    elif isinstance(value, np.generic | np.ndarray) and value.dtype != object:
        if wanted is not None and not wanted.may_hold(value.dtype):
            raise _mismatch(where, argument, value)
        raw = value.tobytes()
    elif isinstance(value, int | float) and (wanted is None or wanted.width == 1):
        return _number(where, argument, None if wanted is None else wanted.scalar, value)
    else:
        raise _mismatch(where, argument, value)
    if len(raw) != argument.size:
        raise _mismatch(where, argument, value)
    return raw


def _number(where: str, argument: "KernelArgument", base: np.dtype | None, value: int | float) -> bytes:
    """Encode a Python number as the argument's type; where the metadata gives none, as a whole number of its size."""
    if base is not None and base.kind == "f":
        with np.errstate(over="ignore"):
            number = np.array(float(value) if abs(value) < 1 << 1024 else math.inf, base)
        if np.isinf(number) and not (isinstance(value, float) and math.isinf(value)):
            raise KernargError(f"{where}: {_short(value)} is too large for {base}")
        return number.tobytes()
    if isinstance(value, float) or argument.size not in (1, 2, 4, 8):
        raise _mismatch(where, argument, value)
    bits = 8 * argument.size
    least = 0 if base is not None and base.kind in "ub" else -(1 << bits - 1)
    most = (1 << bits - 1) - 1 if base is not None and base.kind == "i" else (1 << bits) - 1
    if not least <= value <= most:
        raise KernargError(f"{where}: {_short(value)} does not fit {argument.size} bytes ({least} to {most})")
    return struct.pack("<Q", value & (1 << 64) - 1)[: argument.size]


def _short(value: int | float) -> str:
    """Write a number for a message: Python refuses to write out whole numbers of thousands of digits."""
    if isinstance(value, int) and abs(value) >= 1 << 256:
        return f"a number of {value.bit_length()} bits"
    return str(value)


def _named(argument: "KernelArgument") -> str:
    name = argument.type_name or argument.value_type
    return f" ({name})" if name else ""


def _kind_text(argument: "KernelArgument") -> str:
    texts = {"global_buffer": "global pointer", "dynamic_shared_pointer": "local pointer"}
    texts |= {kind: kind for kind in _WORDS_OF_KINDS}
    return texts.get(argument.kind, f"{argument.size} bytes")


def _mismatch(where: str, argument: "KernelArgument", value: Any) -> KernargError:
    named = _named(argument)
    if argument.kind == "global_buffer":
        expected = f"a device array{named}"
    elif argument.kind == "dynamic_shared_pointer":
        expected = f"gpusim.Local(size in bytes){named}"
    elif argument.kind in _WORDS_OF_KINDS:
        expected = f"{'an image' if argument.kind == 'image' else 'a sampler'} of the device{named}"
    else:
        expected = f"a value of {argument.size} bytes{named}"
    return KernargError(f"{where}: expected {expected}, found {_found(value)}")


def _found(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = f"a host array of {value.dtype} with shape {value.shape}, {value.nbytes} bytes"
        return f"{kind}; gpu.array copies it to the device" if value.ndim else kind
    if isinstance(value, np.generic):
        return f"{type(value).__name__} of {value.nbytes} bytes"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(bytes(value))} bytes"
    if isinstance(value, Pointer):
        return "a device array"
    if isinstance(value, ImageWords):
        return f"an image ({value.type_name})"
    if isinstance(value, SamplerWords):
        return "a sampler"
    if value is None:
        return "None"
    if isinstance(value, Local):
        return f"gpusim.Local({value.size_bytes})"
    text = repr(value) if not isinstance(value, int) else _short(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"

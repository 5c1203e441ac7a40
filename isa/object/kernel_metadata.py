"""Kernel metadata: arguments and work-group limits (LLVM AMDGPU guide, code object metadata).

From code-object version 3 a MessagePack map in the note NT_AMDGPU_METADATA, in version 2 YAML text in
NT_AMD_HSA_METADATA. Both come out as the same `Metadata`.
"""

import re
from typing import Any, NamedTuple

import msgpack  # type: ignore[import-untyped]
import yaml

from isa.object.elf_image import ElfImage, MalformedError

NT_AMDGPU_METADATA = ("AMDGPU", 32)
NT_AMD_HSA_METADATA = ("AMD", 10)
_IRREGULAR_KINDS = {"HiddenMultiGridSyncArg": "hidden_multigrid_sync_arg"}


class KernelArgument(NamedTuple):
    """An argument in the kernel argument block."""

    name: str
    """Name."""
    kind: str
    """'by_value', 'global_buffer', 'dynamic_shared_pointer', 'image', 'sampler' or a hidden kind ('hidden_...')."""
    offset: int
    """Offset in the block in bytes."""
    size: int
    """Size in bytes."""
    type_name: str = ""
    """Type as written in the source; empty: not stated."""
    alignment: int = 0
    """Alignment of the pointed-to data in bytes; 0: not stated."""
    value_type: str = ""
    """Type of the elements, such as 'f32'; empty: not stated."""


class Metadata(NamedTuple):
    """The metadata of one kernel; None for what it does not say."""

    arguments: tuple[KernelArgument, ...] = ()
    """Arguments in order."""
    required_workgroup_size: tuple[int, int, int] | None = None
    """Work-group size that the kernel requires."""
    max_workgroup_size: int | None = None
    """Largest number of work-items."""
    kernarg_bytes: int | None = None
    """Bytes of the arguments."""


def read_metadata(image: ElfImage) -> dict[str, Metadata]:
    """Return the metadata by kernel name; empty for an object without metadata. Raises MalformedError.

    An object that was linked from several has the note of each.
    """
    kernels: dict[str, Metadata] = {}
    for owner, kind, contents in image.notes:
        if (owner, kind) == NT_AMDGPU_METADATA:
            kernels |= _from_msgpack(contents)
        if (owner, kind) == NT_AMD_HSA_METADATA:
            kernels |= _from_yaml(contents)
    return kernels


def _from_msgpack(contents: bytes) -> dict[str, Metadata]:
    try:
        root = msgpack.unpackb(contents, raw=False, strict_map_key=False)
    except Exception as error:
        raise MalformedError(f"metadata is not MessagePack ({error})") from None
    kernels = {}
    for kernel in _list(_map(root, "metadata").get("amdhsa.kernels"), "amdhsa.kernels"):
        kernel = _map(kernel, "kernel metadata")
        symbol = _text(kernel.get(".symbol"), ".symbol")
        arguments = []
        for entry in _list(kernel.get(".args", []), ".args"):
            entry = _map(entry, "argument metadata")
            kind = _text(entry.get(".value_kind"), ".value_kind")
            offset, size = (_number(entry.get(name), name) for name in (".offset", ".size"))
            names = (".name", ".type_name", ".pointee_align", ".value_type")
            arguments.append(_argument(entry, names, kind, offset, size))
        kernels[symbol.removesuffix(".kd")] = Metadata(
            tuple(arguments),
            _size3(kernel.get(".reqd_workgroup_size"), ".reqd_workgroup_size"),
            _optional(kernel.get(".max_flat_workgroup_size"), ".max_flat_workgroup_size"),
            _optional(kernel.get(".kernarg_segment_size"), ".kernarg_segment_size"),
        )
    return kernels


def _from_yaml(contents: bytes) -> dict[str, Metadata]:
    try:
        root = yaml.safe_load(contents.rstrip(b"\0").decode("utf-8"))
    except Exception as error:
        raise MalformedError(f"metadata is not YAML ({str(error).splitlines()[0]})") from None
    kernels = {}
    for kernel in _list(_map(root, "metadata").get("Kernels"), "Kernels"):
        kernel = _map(kernel, "kernel metadata")
        properties = _map(kernel.get("CodeProps", {}), "CodeProps")
        attributes = _map(kernel.get("Attrs", {}), "Attrs")
        arguments: list[KernelArgument] = []
        offset = 0
        for entry in _list(kernel.get("Args", []), "Args"):
            entry = _map(entry, "argument metadata")
            size, alignment = _number(entry.get("Size"), "Size"), _number(entry.get("Align"), "Align")
            if alignment & (alignment - 1) or not alignment:
                raise MalformedError(f"metadata: Align is {alignment}, not a power of two")
            offset = (offset + alignment - 1) & -alignment
            kind = _kind(_text(entry.get("ValueKind"), "ValueKind"))
            names = ("Name", "TypeName", "PointeeAlign", "ValueType")
            arguments.append(_argument(entry, names, kind, offset, size))
            offset += size
        kernels[_text(kernel.get("SymbolName"), "SymbolName").removesuffix("@kd")] = Metadata(
            tuple(arguments),
            _size3(attributes.get("ReqdWorkGroupSize"), "ReqdWorkGroupSize"),
            _optional(properties.get("MaxFlatWorkGroupSize"), "MaxFlatWorkGroupSize"),
            _optional(properties.get("KernargSegmentSize"), "KernargSegmentSize"),
        )
    return kernels


def _argument(
    entry: dict[Any, Any], names: tuple[str, str, str, str], kind: str, offset: int, size: int
) -> KernelArgument:
    name, type_name, value_type = (_text(entry.get(key, ""), key) for key in (names[0], names[1], names[3]))
    return KernelArgument(
        name=name,
        kind=kind,
        offset=offset,
        size=size,
        type_name=type_name,
        alignment=_number(entry.get(names[2], 0), names[2]),
        value_type=value_type,
    )


def _kind(name: str) -> str:
    """Return an argument's kind as from version 3 on: global_buffer for version 2's GlobalBuffer."""
    return _IRREGULAR_KINDS.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _map(value: Any, what: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise MalformedError(f"{what}: expected a map, found {type(value).__name__}")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise MalformedError(f"metadata: {what}: expected a list, found {type(value).__name__}")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise MalformedError(f"metadata: {what}: expected text, found {type(value).__name__}")
    return value


def _number(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 32:
        raise MalformedError(f"metadata: {what}: expected a number of 32 bits, found {value!r}")
    return value


def _optional(value: Any, what: str) -> int | None:
    return None if value is None else _number(value, what)


def _size3(value: Any, what: str) -> tuple[int, int, int] | None:
    if value is None:
        return None
    sizes = _list(value, what)
    if len(sizes) != 3:
        raise MalformedError(f"metadata: {what}: expected 3 numbers, found {len(sizes)}")
    x, y, z = (_number(size, what) for size in sizes)
    return x, y, z

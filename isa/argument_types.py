"""Element types of kernel arguments, as a code object's metadata names them, beside NumPy's.

Metadata names types in two ways (LLVM AMDGPU guide, code object metadata): `.type_name` as the source wrote it, which
clang gives for OpenCL C, and `.value_type`, the element's, which compilers before LLVM 11 give for any language. An
argument with neither cannot be checked.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from isa.object.kernel_metadata import KernelArgument

# scalar types by the names of OpenCL C (specification 3.0, section 6.3.1), of C and of its <stdint.h>, as NumPy's
_SCALARS = {
    "bool": "?",
    "char": "i1",
    "signed char": "i1",
    "uchar": "u1",
    "unsigned char": "u1",
    "short": "i2",
    "ushort": "u2",
    "unsigned short": "u2",
    "int": "i4",
    "uint": "u4",
    "unsigned": "u4",
    "unsigned int": "u4",
    "long": "i8",
    "long long": "i8",
    "ulong": "u8",
    "unsigned long": "u8",
    "unsigned long long": "u8",
    "half": "f2",
    "_Float16": "f2",
    "float": "f4",
    "double": "f8",
    "size_t": "u8",
    "ptrdiff_t": "i8",
    **{f"int{8 * n}_t": f"i{n}" for n in (1, 2, 4, 8)},
    **{f"uint{8 * n}_t": f"u{n}" for n in (1, 2, 4, 8)},
}
_VALUE_TYPES = {f"{kind}{8 * n}": f"{kind}{n}" for kind in "iuf" for n in (1, 2, 4, 8) if f"{kind}{n}" != "f1"}
_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict|__restrict|__restrict__|__global|__local|__constant)\b")
_INTEGER = "iub"


class ElementType(NamedTuple):
    """A scalar type, or a vector of `width` of them."""

    scalar: np.dtype
    """Type of an element."""
    width: int = 1
    """Elements of the vector; 1: a scalar."""

    @property
    def size_bytes(self) -> int:
        """Bytes of one element; a vector of 3 takes the space of 4."""
        return self.scalar.itemsize * (4 if self.width == 3 else self.width)

    def may_hold(self, dtype: np.dtype) -> bool:
        """Tell whether memory of this type may be an array of `dtype`: the same size and kind of number, signed or not.

        Bytes may be anything, and a structure may be laid over anything; a complex number is a vector of 2.
        """
        if dtype.kind == "V" or self.scalar.itemsize == 1:
            return True
        if dtype.kind == "c":
            return self.scalar.kind == "f" and self.width > 1 and dtype.itemsize == 2 * self.scalar.itemsize
        same_kind = dtype.kind in _INTEGER if self.scalar.kind in _INTEGER else dtype.kind == self.scalar.kind
        return same_kind and dtype.itemsize == self.scalar.itemsize


def pointee(argument: "KernelArgument") -> ElementType | None:
    """Return what a pointer points to; None where the metadata does not say, or names a type of the program's own."""
    name = _bare(argument.type_name)
    if name.endswith("*"):
        return _named(name[:-1].strip())
    # typed pointers alone knew more than "bytes", which stands for any type as well
    known = _valued(argument.value_type)
    return None if name or known is None or known.scalar.itemsize == 1 else known


def by_value(argument: "KernelArgument") -> ElementType | None:
    """Return the type of a value; None where the metadata does not say, or names a type of the program's own."""
    found = _named(_bare(argument.type_name)) or _valued(argument.value_type)
    # a typedef may carry a built-in name's form, and value_type names a vector's elements: the size decides
    return found if found is not None and found.size_bytes == argument.size else None


def _bare(type_name: str) -> str:
    return " ".join(_QUALIFIERS.sub(" ", type_name).split())


def _named(name: str) -> ElementType | None:
    name = name.removeprefix("atomic_")
    if name in _SCALARS:
        return ElementType(np.dtype(_SCALARS[name]))
    vector = re.fullmatch(r"([a-z]+)(2|3|4|8|16)", name)
    if vector is None or vector[1] not in _SCALARS:
        return None
    return ElementType(np.dtype(_SCALARS[vector[1]]), int(vector[2]))


def _valued(value_type: str) -> ElementType | None:
    name = _VALUE_TYPES.get(value_type.lower())
    return None if name is None else ElementType(np.dtype(name))

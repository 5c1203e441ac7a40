"""Names of kernels: C++'s mangled ones as a reader writes them, and the kernel that a short form means.

A fat binary may hold several kernels of one name, one in each translation unit: they are NAME@0, NAME@1, ... by the
number of the code object that each is in.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from gpusim.base.errors import UserError, nearest

_ANONYMOUS = "(anonymous namespace)::"
_BRACKETS = {"<": 1, "(": 1, "{": 1, ">": -1, ")": -1, "}": -1}
_OPENCL_TYPES = {
    "signed char": "char",
    "unsigned char": "uchar",
    "unsigned short": "ushort",
    "unsigned int": "uint",
    "unsigned": "uint",
    "unsigned long": "ulong",
    "long long": "long",
    "unsigned long long": "ulong",
    "_Float16": "half",
}
_LISTED = 12  # names in a message


class KernelNameError(UserError, KeyError):
    """A code object has no kernel of this name, or several; the message names the nearest one, or all of them."""

    __str__ = UserError.__str__


class _Name(NamedTuple):
    """A C++ name's parts: 'void x::f<int>(int*)', 'x::f<int>', '@2' or nothing, and the types of its parameters."""

    declaration: str
    qualified: str
    number: str
    parameters: tuple[str, ...] = ()

    def forms(self) -> tuple[frozenset[str], ...]:
        """Return sets of names that may stand for the kernel, the longest forms first; without spaces."""
        qualified = {self.qualified, self.qualified.replace(_ANONYMOUS, "")}
        last = _last_component(self.qualified)
        kinds = (
            {self.declaration, self.declaration.removeprefix("void ")},
            qualified,
            {last},
            {last if last.startswith("operator") else last.partition("<")[0]},
        )
        return tuple(frozenset(_squeezed(f) + n for f in kind for n in ("", self.number)) for kind in kinds)


def readable(name: str) -> str:
    """Return 'void gemm<float, 16>(float const*, int)' for such a mangled C++ name; any other name as it is."""
    parts = _parts(name)
    return parts.declaration + parts.number if parts else name


def short(name: str) -> str:
    """Return the kernel's name alone, with its template arguments: 'gemm<float, 16>'."""
    parts = _parts(name)
    return parts.qualified.replace(_ANONYMOUS, "") + parts.number if parts else name


def parameter_types(name: str) -> tuple[str, ...]:
    """Return the types of a C++ kernel's parameters, as OpenCL writes them: 'float*' for 'float const*', 'uint'."""
    parts = _parts(name)
    return tuple(_opencl_type(text) for text in parts.parameters) if parts else ()


def _opencl_type(text: str) -> str:
    words = re.sub(r"\b(const|volatile|__restrict|restrict)\b", "", text).replace("*", " * ").split()
    stars = "*" * words.count("*")
    name = " ".join(word for word in words if word != "*")
    return _OPENCL_TYPES.get(name, name) + stars


def find(kernels: Mapping[str, object], asked: str, source: str) -> str:
    """Return the kernel that a name means.

    Args:
        kernels: kernels by name.
        asked: the name, or any unambiguous form of a C++ name: the whole declaration; without the parameters; without
            namespaces; without the template arguments. Spaces and the suffixes of numbers do not count; longer forms
            take precedence.
        source: where the kernels come from, for the error.

    Returns:
        The kernel's own name.

    Raises:
        KernelNameError: there is none, or several.
    """
    if asked in kernels:
        return asked
    wanted = _squeezed(asked)
    by_form = [(name, parts.forms()) for name in kernels if (parts := _parts(name))]
    for kind in range(4):
        found = [name for name, forms in by_form if wanted in forms[kind]]
        if len(found) == 1:
            return found[0]
        if found:
            raise KernelNameError(f"{source}: '{asked}' may be any of {listed(found)}")
    guess = nearest(asked, map(short, kernels))
    hint = f"; did you mean '{guess}'?" if guess else ";"
    raise KernelNameError(f"{source}: unknown kernel '{asked}'{hint} allowed: {listed(kernels)}")


@cache
def _parts(name: str) -> _Name | None:
    """Split a mangled C++ name, or any name with a number, into its parts; None for another one."""
    mangled, at, number = name.partition("@")
    if mangled.startswith("_Z"):
        import demangle  # only where there are C++ names

        try:
            found = demangle.signature(mangled)
        except demangle.DemanglingError:
            return None
        text = str(found)
        return _Name(text, found.qualified_name or text, at + number, tuple(map(str, found.parameters or ())))
    return _Name(mangled, mangled, at + number) if at else None


def _last_component(qualified: str) -> str:
    """Return the last component of a qualified name: 'gemm<a::b>' of 'x::y::gemm<a::b>'."""
    depth, start = 0, 0
    for at, letter in enumerate(qualified):
        depth += _BRACKETS.get(letter, 0)
        if depth == 0 and qualified.startswith("::", at):
            start = at + 2
    return qualified[start:]


def _squeezed(text: str) -> str:
    """Remove spaces and the suffixes of numbers from a name: 'f<64u>' is also written f<64>."""
    return re.sub(r"\b(\d+)u?l{0,2}\b", r"\1", "".join(text.split()))


def _distinct(names: list[str]) -> list[str]:
    """Return the shortest forms that tell these kernels apart: without parameters, with them, or the mangled names."""
    for form in (short, readable):
        forms = [form(name) for name in names]
        if len(set(forms)) == len(forms):
            return forms
    return names


def listed(kernels: Iterable[str]) -> str:
    """List the kernels in the shortest distinct forms, in order, up to a dozen, and how many more there are."""
    names = sorted(_distinct(list(kernels)))
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")

"""Entry points: the functions of the compiled core that Python calls, or hands on by address.

The machine code of one holds everything it calls. It is kept as a file of a line (its symbol) and an object file, which
LLVM alone can load: on a start that finds it neither Numba nor any other function of the core is needed.
"""

from collections.abc import Sequence
from typing import Any

from gpusim.base.jit.cache import domain_folder, domain_of, keep, read_code
from gpusim.base.jit.functions import JIT_DISABLED, CoreFunction
from gpusim.base.jit.machine_code import Target


def file_name(function: CoreFunction, target: Target | None = None) -> str:
    """Return the name under which an entry point for a target, or this process's, is kept (`gpusim.base.jit.cache`)."""
    return f"{domain_folder(domain_of(function.__module__), target)}/{function.__module__}.{function.__name__}.code"


def save(function: CoreFunction, symbol: str, code: bytes) -> None:
    """Keep an entry point's object file, in which its C function is called `symbol`."""
    keep(file_name(function), symbol.encode() + b"\n" + code)


def read(function: CoreFunction) -> tuple[str, bytes] | None:
    """Return the symbol and object file of an entry point; None if it is not in the cache, or damaged."""
    content = read_code(lambda target: file_name(function, target))
    if content is None:
        return None
    symbol, _, code = content.partition(b"\n")
    return symbol.decode(), code


def load(functions: Sequence[Any]) -> bool:
    """Make entry points callable from the cache, unless they are already; False if one of them is not there."""
    missing = [] if JIT_DISABLED else [function for function in functions if not function.address]
    if not missing:
        return True
    found = [read(function) for function in missing]
    whole = [code for code in found if code is not None]
    if len(whole) < len(found):
        return False
    from gpusim.base.jit.machine_code import LoadedCode

    loaded = LoadedCode(code for _, code in whole)
    addresses = [loaded.address(symbol) for symbol, _ in whole]
    if not all(addresses):
        return False
    for function, address in zip(missing, addresses, strict=True):
        function.bind(address, loaded)
    return True

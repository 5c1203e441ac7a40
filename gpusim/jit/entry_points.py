"""Entry points: the functions of the compiled core that Python calls, or hands on by address.

The machine code of one holds everything it calls. It is kept as a file of a line (checksum and symbol) and an object
file, which LLVM alone can load: on a start that finds it neither Numba nor any other function of the core is needed.
A file that is missing or damaged counts as not compiled.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpusim.base.files import write_whole
from gpusim.jit.cache import cache_dir, domain_of
from gpusim.jit.functions import JIT_DISABLED, CoreFunction

_COMPLETE = "complete"


def is_compiled(domain: str) -> bool:
    """Whether a complete compilation of the domain lies in the cache."""
    return JIT_DISABLED or (cache_dir(domain) / _COMPLETE).exists()


def mark_complete(domain: str) -> None:
    """Note that all of the domain's entry points lie in the cache."""
    marker = cache_dir(domain) / _COMPLETE
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def code_path(function: CoreFunction) -> Path:
    """The file of an entry point."""
    return cache_dir(domain_of(function.__module__)) / f"{function.__module__}.{function.__name__}.code"


def save(function: CoreFunction, symbol: str, code: bytes) -> None:
    """Keep an entry point's object file, in which its C function is called `symbol`."""
    path = code_path(function)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{hashlib.sha256(code).hexdigest()} {symbol}\n".encode() + code)


def read(function: CoreFunction) -> tuple[str, bytes] | None:
    """Symbol and object file of an entry point; None if it is not in the cache, or damaged."""
    try:
        line, _, code = code_path(function).read_bytes().partition(b"\n")
        checksum, symbol = line.decode("ascii").split(" ")
    except (OSError, ValueError):
        return None
    return (symbol, code) if hashlib.sha256(code).hexdigest() == checksum else None


def load(functions: Sequence[Any]) -> bool:
    """Make entry points callable from the cache; False if one of them is not there. Again: nothing to do."""
    missing = [] if JIT_DISABLED else [function for function in functions if not function.address]
    if not missing:
        return True
    found = [read(function) for function in missing]
    whole = [code for code in found if code is not None]
    if len(whole) < len(found):
        return False
    from gpusim.jit.machine_code import LoadedCode

    loaded = LoadedCode(code for _, code in whole)
    addresses = [loaded.address(symbol) for symbol, _ in whole]
    if not all(addresses):
        return False
    for function, address in zip(missing, addresses, strict=True):
        function.bind(address, loaded)
    return True

"""Object code in this process: loaded by LLVM, without the compiler that made it."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm


@cache
def host() -> tuple[str, str, str]:
    """Return what machine code depends on besides its source: version of LLVM's binding, CPU name, CPU features."""
    return llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def target_machine(cpu: str | None = None) -> Any:
    """Return LLVM's code generator for this host, or for the named CPU with no features beyond its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for inline assembly
    _, own, features = host()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu or own,
        features=features if cpu is None else "",
        opt=2,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


class LoadedCode:
    """Object files in memory, ready to run; they live as long as this object."""

    def __init__(self, objects: Iterable[bytes]) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        for content in objects:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(content))
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """Return the address of a function, 0 if there is none of that name."""
        return int(self._engine.get_function_address(symbol))

"""Object code in this process: loaded by LLVM, without the compiler that made it."""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm


class Target(NamedTuple):
    """What machine code depends on besides its source and flags."""

    llvm: str
    """Version of LLVM's binding."""
    cpu: str
    """Name of the processor."""
    features: str
    """What it has beside what its name says, as LLVM writes it."""


@cache
def host_features() -> Mapping[str, bool]:
    """Return which features of processors this host has."""
    features: Mapping[str, bool] = llvm.get_host_cpu_features()
    return features


@cache
def own_target() -> Target:
    """Return what this process compiles for: the host, or what Numba's NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name."""
    cpu, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = llvm.get_host_cpu_features().flatten()  # Numba takes them for another processor, too
    return Target(llvmlite.__version__, cpu or llvm.get_host_cpu_name(), features)


def target_machine(cpu: str | None = None) -> Any:
    """Return LLVM's code generator for `own_target`, or for the named CPU with no features beyond its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for inline assembly
    _, own, features = own_target()
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

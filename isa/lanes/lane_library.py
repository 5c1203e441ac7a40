"""Building and loading the library of compiled operations.

All operations but matrix products are one LLVM module, and these are another, which is compiled when a kernel has one;
each is kept as an object file under a name made from everything that went into it (sources, compiler, host CPU:
`gpusim.base.jit.cache`). With the JIT disabled an address is a key into a
table of Python functions.
"""

import importlib
import pkgutil
import time
from collections.abc import Callable, Iterable
from functools import cache

import llvmlite.binding as llvm

from gpusim.base.jit import JIT_DISABLED
from gpusim.base.jit.cache import hash_of_sources, keep, read_code
from gpusim.base.jit.compile_lock import compile_lock
from gpusim.base.jit.compile_progress import begin, compiling
from gpusim.base.jit.machine_code import LoadedCode, Target, target_machine
from isa.lanes.host_mode import HostMode, runs_directly
from isa.lanes.llvm_module import UNGUARDED, ModuleText
from isa.lanes.table import ALIASES, MATRIX, SCALAR, VECTOR, Signature, parse_signature

_HOST_FUNCTIONS = ("set_host_float_mode", "restore_host_float_mode")
_HOST_SIGNATURE = parse_signature("imm ->")
# of Python's byte code take as long as the library, as the matrix products (`gpusim.base.jit.compile_progress`)
_COMPILING_BYTES, _COMPILING_MATRIX_BYTES = 14_000.0, 14_500.0

python_operations: dict[int, Callable[..., int]] = {}


class LaneLibrary:
    """Addresses and signatures of all operations by mnemonic.

    Args:
        address: Finds the function of a name, 0 if there is none, and is asked for what a kernel uses.
        guarded: Those that check the host's mode have a twin that does not.
        compile_seconds: What compiling took, 0 when loaded.
        load_seconds: All of making the library ready.
    """

    def __init__(
        self,
        names: Iterable[str],
        address: Callable[[str], int],
        compile_seconds: float,
        load_seconds: float,
        guarded: bool = True,
    ) -> None:
        self._names = frozenset(names)
        self._address = cache(address)
        self._guarded = guarded
        self.compile_seconds = compile_seconds
        self.load_seconds = load_seconds

    def has(self, mnemonic: str) -> bool:
        """Tell whether the library has the operation."""
        return ALIASES.get(mnemonic, mnemonic) in self._names

    def address(self, mnemonic: str, constant_mode: int | None = None) -> int:
        """Return the address for `call_lane_op` or `call_scalar_op`; KeyError when there is no such operation.

        constant_mode: MODE[7:0] when it never changes while the caller runs (no s_setreg of MODE) and the host was set
        by `set_host_float_mode` to it: operations that want just that host mode then need not check it.
        """
        name = ALIASES.get(mnemonic, mnemonic)
        if name not in self._names:
            raise KeyError(name)
        operation = VECTOR.get(name) or MATRIX.get(name)
        if self._guarded and constant_mode is not None and operation is not None and operation.guarded:
            if not operation.mode_with_destination and runs_directly(operation.host_mode, constant_mode):
                return self._address(name + UNGUARDED)
        return self._address(name)

    def signature(self, mnemonic: str) -> Signature:
        """Return the operation's operands and results; KeyError when there is no such operation."""
        name = ALIASES.get(mnemonic, mnemonic)
        if name in _HOST_FUNCTIONS:
            return _HOST_SIGNATURE
        return (VECTOR.get(name) or MATRIX.get(name) or SCALAR[name]).signature

    def mode_with_destination(self, mnemonic: str) -> bool:
        """Tell whether a vector operation takes MODE[7:0] in the low byte of the destination's address."""
        name = ALIASES.get(mnemonic, mnemonic)
        return name in VECTOR and VECTOR[name].mode_with_destination


def load_semantics() -> None:
    """Import every module of `isa.semantics`, which fills the tables."""
    package = importlib.import_module("isa.semantics")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"isa.semantics.{module.name}")


def file_name(part: str = "lanes", target: Target | None = None) -> str:
    """Return the name under which a part of the library compiled from these sources is kept (`gpusim.base.jit.cache`).

    Args:
        part: 'lanes' or 'matrix'.
        target: What it is compiled for; None: what this process compiles for.
    """
    return f"{part}-{hash_of_sources('isa/architecture.py', 'isa/lanes', 'isa/semantics', target=target)}.code"


def _read(part: str) -> bytes | None:
    return read_code(lambda target: file_name(part, target))


def module_text(names: Iterable[str] | None = None) -> str:
    """Return the LLVM IR of the whole library, or of some operations alone."""
    module = ModuleText(HostMode())
    for name in (*VECTOR, *MATRIX, *SCALAR) if names is None else names:
        if name in VECTOR:
            module.add_vector(VECTOR[name])
        elif name in MATRIX:
            module.add_matrix(MATRIX[name])
        else:
            module.add_scalar(SCALAR[name])
    module.host.add_functions(module)
    return module.text()


def compile_object(text: str, cpu: str | None = None) -> bytes:
    """Optimise LLVM IR text for this host, or for another CPU of its kind, and return the object file."""
    machine = target_machine(cpu)
    module = llvm.parse_assembly(f'target triple = "{machine.triple}"\n' + text)
    module.data_layout = str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _load_compiled(start: float) -> LaneLibrary:
    if not HostMode().supported:
        raise RuntimeError("the compiled core needs an x86-64 or AArch64 CPU; NUMBA_DISABLE_JIT=1 runs without it")
    if HostMode().is_x86 and not llvm.get_host_cpu_features().get("f16c"):
        raise RuntimeError("the compiled core needs a CPU with F16C (x86-64-v3); NUMBA_DISABLE_JIT=1 runs without it")
    names = (*VECTOR, *SCALAR)
    is_there = _read("lanes") is not None
    code = LoadedCode([_compiled("lanes", names, "the lane operations", _COMPILING_BYTES)])
    compile_seconds = 0.0 if is_there else time.perf_counter() - start

    @cache
    def matrix() -> LoadedCode:  # few kernels have such products, and they are much code
        return LoadedCode([_compiled("matrix", MATRIX, "the matrix products", _COMPILING_MATRIX_BYTES)])

    def address(name: str) -> int:
        return (matrix() if name.removesuffix(UNGUARDED) in MATRIX else code).address(name)

    every = (*names, *MATRIX, *_HOST_FUNCTIONS)
    return LaneLibrary(every, address, compile_seconds, time.perf_counter() - start)


def _compiled(part: str, names: Iterable[str], what: str, compiling_bytes: float) -> bytes:
    """Return a part of the library, from the cache or compiled."""
    if (code := _read(part)) is None:
        with compile_lock():
            if (code := _read(part)) is None:  # no other process has compiled it by now
                with compiling(what, compiling_bytes):
                    begin(compiling_bytes)
                    code = compile_object(module_text(names))
                keep(file_name(part), code)
    return code


def loaded(compiled: bytes, names: Iterable[str]) -> LaneLibrary:
    """Return a library of the operations in an object file; the address of an operation that it lacks is 0."""
    code = LoadedCode([compiled])
    return LaneLibrary((*names, *_HOST_FUNCTIONS), code.address, 0.0, 0.0)


def _load_python(start: float) -> LaneLibrary:
    from isa.lanes.matrix_numpy import matrix_callable
    from isa.lanes.numpy_backend import NumpyMode, scalar_callable, vector_callable

    host = NumpyMode()
    functions: dict[str, Callable[..., int]] = {n: vector_callable(o, host) for n, o in VECTOR.items()}
    functions |= {n: scalar_callable(o) for n, o in SCALAR.items()}
    functions |= {n: matrix_callable(product) for n, product in MATRIX.items()}
    functions |= {"set_host_float_mode": host.set, "restore_host_float_mode": host.restore}
    addresses = {}
    for name, function in functions.items():
        addresses[name] = len(python_operations) + 1
        python_operations[addresses[name]] = function
    return LaneLibrary(addresses, addresses.__getitem__, 0.0, time.perf_counter() - start, guarded=False)


@cache
def library() -> LaneLibrary:
    """Return the library for this process: compiled, or of Python functions with the JIT disabled."""
    start = time.perf_counter()
    load_semantics()
    return _load_python(start) if JIT_DISABLED else _load_compiled(start)


@cache
def python_library() -> LaneLibrary:
    """Return the library of Python functions, even with the JIT enabled; for comparing the two."""
    start = time.perf_counter()
    load_semantics()
    return _load_python(start)

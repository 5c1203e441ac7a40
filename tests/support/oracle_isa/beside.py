"""gpusim's own execution and the second statement's, an instruction at a time, from equal registers."""

import ctypes
from dataclasses import replace

import numpy as np

from gpusim.base.jit import JIT_DISABLED
from gpusim.base.jit.functions import python_callback
from isa.device_memory import DeviceMemory
from isa.execution.executor import FunctionalContext
from isa.execution.inspect import scalar_registers, vector_registers
from isa.execution.state import MODE
from isa.launch import Launch
from isa.object.code_object import Kernel
from tests.support.oracle_isa.numbers import BIAS, MANTISSA
from tests.support.oracle_isa.operands import vector_number
from tests.support.oracle_isa.state import Memory, Wave
from tests.support.oracle_isa.text import Line

_ABI = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)


def call(address: int, *arguments: int) -> int:
    """Call a compiled function, or in plain Python what stands for it."""
    return int(python_callback(address)(*arguments) if JIT_DISABLED else _ABI(address)(*arguments))


def bare_kernel(kernel: Kernel, words: list[int]) -> Kernel:
    """A kernel of these words alone, with all vector registers."""
    code = b"".join(word.to_bytes(4, "little") for word in words)
    held = replace(kernel, name="words", code=code, entry=0, code_address=0, vgprs=256, sgprs=102, lds_bytes=0)
    return replace(
        held, image=code, image_address=0, relocations=(), functions=(), code_pointers=(), code_end=len(code)
    )


class OneWave:
    """A wavefront of gpusim's, whose registers are set and read, and which executes an instruction at a time."""

    def __init__(self, kernel: Kernel) -> None:
        memory = DeviceMemory(1 << 22)
        launch = Launch(kernel, memory, bytes(kernel.kernarg_bytes), (64, 1, 1), (64, 1, 1))
        self.context = FunctionalContext(launch, 1, 1, max_instructions=1 << 40)
        call(self.context.start_address, self.context.address, 0, 0, 0)
        self.wave = self.context.wavefronts[0]
        self.index = {one.address: k for k, one in enumerate(self.context.instructions)}

    def take(self, w: Wave) -> None:
        """Take over registers."""
        self.wave.scc = w.scc
        scalars = scalar_registers(self.context, 0)
        scalars[:128] = w.s
        scalars[MODE] = w.mode
        vector_registers(self.context, 0)[:] = w.v

    def step(self, address: int) -> None:
        """Execute the instruction at an address; raises ExecutionFault."""
        self.wave.pc = self.index[address]
        self.context.state.max_instructions = self.wave.executed + 1
        if call(self.context.produce_address, self.context.address, 0, 0, 0) < 0:
            raise self.context.fault()

    def forgive_nan(self, line: Line, kind: str, w: Wave) -> None:
        """Take over what the other one has left in the lanes in which both hold a NaN of this kind."""
        v = vector_number(line.operands[0])
        rows = slice(v, v + (2 if kind == "f64" else 1))
        held = vector_registers(self.context, 0)
        both = _is_nan(held[rows], kind) & _is_nan(w.v[rows], kind)
        held[rows] = np.where(both, w.v[rows], held[rows])

    def differs(self, w: Wave) -> str:
        """Which register has another value; empty if none has."""
        return difference(scalar_registers(self.context, 0), vector_registers(self.context, 0), int(self.wave.scc), w)


def _is_nan(rows: np.ndarray, kind: str) -> np.ndarray:
    """In which lanes one register, or two of FP64, holds a NaN."""
    if kind == "f64":
        return np.isnan((rows[0] | rows[1].astype(np.uint64) << np.uint64(32)).view(np.float64))
    word = rows[0].astype(np.uint16) if kind == "f16" else rows[0].copy()
    return np.isnan(word.view(f"f{int(kind[1:]) // 8}"))


def difference(scalars: np.ndarray, vectors: np.ndarray, scc: int, w: Wave) -> str:
    """The first register in which gpusim's wavefront and the other one's differ; empty if there is none."""
    mine = np.array(w.s, np.uint32)
    for code in np.flatnonzero(mine != scalars[:128]):
        return f"scalar register {code}: gpusim {scalars[code]:#x}, second statement {mine[code]:#x}"
    if scc != w.scc:
        return f"SCC: gpusim {scc}, second statement {w.scc}"
    count = min(len(vectors), len(w.v))
    if (vectors[:count] != w.v[:count]).any():
        v, lane = (int(x[0]) for x in np.nonzero(vectors[:count] != w.v[:count]))
        return f"v{v} of lane {lane}: gpusim {vectors[v, lane]:#010x}, second statement {w.v[v, lane]:#010x}"
    if int(scalars[MODE]) != w.mode:
        return f"MODE: gpusim {int(scalars[MODE]):#x}, second statement {w.mode:#x}"
    return ""


def random_wave(draw: np.random.Generator, values: np.ndarray, mode: int) -> Wave:
    """A wavefront whose registers hold what follows a random place in `values`, which are more."""
    w = Wave(Memory(), np.zeros(0, np.uint8))
    vectors, scalars, _ = np.split(values[draw.integers(len(values) - w.v.size - 104) :], (w.v.size, w.v.size + 104))
    w.v[:], w.s[:104] = vectors.reshape(w.v.shape), scalars.tolist()
    w.s[124] = int(draw.integers(0, 4))
    w.set_scalar(106, int(draw.integers(0, 1 << 64, dtype=np.uint64)), 2)
    w.set_exec(int(draw.integers(0, 1 << 64, dtype=np.uint64)) if draw.random() < 0.7 else (1 << 64) - 1)
    w.scc, w.mode = int(draw.integers(2)), mode
    return w


def random_values(draw: np.random.Generator, count: int) -> np.ndarray:
    """Numbers of all kinds as words, those at the edges of formats often."""
    found = draw.integers(0, 1 << 32, count, dtype=np.uint32)
    kind = draw.integers(0, 6, count)
    small = draw.integers(0, 70, count).astype(np.uint32)
    edges = np.array(
        [
            f << MANTISSA[k] - (32 if k == "f64" else 0)
            for k in ("f16", "f32", "f64")
            for f in (0, 1, BIAS[k] - 1, BIAS[k], BIAS[k] + 1, 2 * BIAS[k], 2 * BIAS[k] + 1)
        ],
        np.uint32,
    )
    at = draw.integers(0, len(edges), count)
    sign = draw.integers(0, 2, count).astype(np.uint32) << np.uint32(31)
    near = (draw.normal(size=count) * 10.0 ** draw.integers(-3, 4, count)).astype(np.float32).view(np.uint32)
    found = np.where(kind == 0, small, found)
    found = np.where(kind == 1, edges[at] + small % np.uint32(3) | sign, found)
    found = np.where(kind == 2, near, found)
    return np.where(kind == 3, np.uint32(0) - small, found).astype(np.uint32)

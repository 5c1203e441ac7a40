"""What a launch asks of the GPU, from the launch alone: some of its workgroups execute what decides their control flow.

That counts their instructions exactly (`isa.execution.control_slice`). How many lines and LDS cycles a memory
instruction takes is seen in the first instructions of a workgroup in the middle of the grid. The other workgroups are
taken to be as those looked at.
"""

from collections.abc import Iterator, Sequence
from ctypes import c_int64
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from gpusim.model.core.cu.code_table import (
    ACTION_MASK,
    ACTION_SHIFT,
    CYCLES_MASK,
    CYCLES_SHIFT,
    LGKM_MASK,
    LGKM_SHIFT,
    PASS_CYCLES,
    VM_MASK,
    VM_SHIFT,
    WAIT,
    code_table,
)
from gpusim.model.core.cu.spec import ComputeUnitSpec
from gpusim.model.core.gpu_spec import GpuSpec
from isa.encoding.instruction import Instruction
from isa.execution.context_pool import ContextPool
from isa.execution.control_slice import BLOCKS, ControlSliceError
from isa.execution.counting import executed_kinds, kinds_counted, slice_of
from isa.execution.emulator import run_functional
from isa.execution.executor import program_of
from isa.execution.faults import ExecutionFault
from isa.execution.program import Program
from isa.launch import Launch
from isa.object.code_object import Kernel
from isa.opcodes.opcode import LDS, SALU, SMEM, VALU, VMEM
from isa.trace import (
    LINE_BITS,
    LINE_BYTES,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_SCALAR,
    RECORD_STORE,
    TRACE_WORDS,
    taken_records,
)
from spartan.shadows import shadows_of
from workloads.operators.gemm_kernels import GEMM_KERNELS
from workloads.operators.launching import kernel_of
from workloads.operators.operator import GpuFacts
from workloads.shapes import GemmShape

CODE_BYTES = 64 << 20  # of address space, for all kernels that are looked at in one device memory
LOOKED_AT = 5  # workgroups, spread over the grid
PROBED_INSTRUCTIONS = 20_000  # some iterations of a long loop
EVEN_LINES = 4.0  # lines, or bank cycles, of an access by 64 lanes to four bytes each, one after another
ALL, VALU_CYCLES, MATRIX_CYCLES, SCALAR, LDS_ACCESSES, LOADS, STORES, TURNS, EXPOSED = range(BLOCKS)
TURN_CYCLES = 4  # from a wavefront's turn to its next


@dataclass(frozen=True)
class LaunchWork:
    """Work of a launch; totals over the launch unless stated otherwise."""

    workgroups: int
    """Workgroups."""
    wavefronts: int
    """Wavefronts of a workgroup."""
    instructions: float
    """Wavefront instructions."""
    valu_cycles: float
    """Cycles of the SIMDs."""
    matrix_cycles: float
    """Cycles of their matrix units."""
    scalar_instructions: float
    """Scalar instructions."""
    lds_cycles: float
    """LDS bank cycles."""
    load_lines: float
    """64-byte lines loaded, summed over instructions."""
    missed_lines: float
    """Loaded lines that miss L1."""
    store_lines: float
    """64-byte lines stored, summed over instructions."""
    turn_cycles: float
    """Issue cycles of a single wavefront."""
    exposed_cycles: float
    """Cycles that a single wavefront waits for data at idle latency, beyond its issue."""
    code_lines: float
    """Lines of code: the kernel's, or those that a wavefront's instructions fill."""
    longest: float = 1.0
    """Work of the longest analysed workgroup over the mean."""
    counted: bool = True
    """Control flow was followed; otherwise each instruction counts once."""


def launch_work(launch: Launch, gpu: GpuSpec, accesses: bool = True) -> LaunchWork:
    """Return what a launch asks for; what it stores while it is looked at stays in its memory.

    Raises what a launch raises before it begins (isa.execution.executor.FunctionalContext).

    Args:
        launch: The launch.
        gpu: GPU on which it would run.
        accesses: Look at what an access takes too, by executing some; False: as even as it can be.
    """
    x, y, z = launch.workgroups
    groups, waves = x * y * z, launch.wavefronts_per_workgroup
    answer = gpu.l1.hit_latency_cycles + beyond_l1_cycles(gpu)
    instructions = program_of(launch.kernel).instructions
    code_bytes = sum(one.size for one in instructions)
    looked_at = sorted({round(k * (groups - 1) / (LOOKED_AT - 1)) for k in range(LOOKED_AT)})
    counted = True
    try:
        shadows = shadows_of(launch) or None
        counts = executed_kinds(launch, _counting(launch.kernel, gpu.cu, answer), looked_at, shadows)
    except ExecutionFault:
        static = _kinds(instructions, gpu.cu, answer).sum(axis=0)
        counts, counted = np.tile(static * waves, (len(looked_at), 1)), False
    each = _mean(counts, groups)
    middle, l1_lines = len(looked_at) // 2, (gpu.l1.size_kib << 10) // LINE_BYTES
    looks = counted and accesses
    access = _of_an_access(launch, looked_at[middle], counts[middle], l1_lines) if looks else _Access()
    whole = each * groups
    return LaunchWork(
        workgroups=groups,
        wavefronts=waves,
        instructions=float(whole[ALL]),
        valu_cycles=float(whole[VALU_CYCLES]),
        matrix_cycles=float(whole[MATRIX_CYCLES]),
        scalar_instructions=float(whole[SCALAR]),
        lds_cycles=float(whole[LDS_ACCESSES]) * access.lds_cycles,
        load_lines=float(whole[LOADS]) * access.load_lines,
        missed_lines=float(whole[LOADS]) * access.missed_lines,
        store_lines=float(whole[STORES]) * access.store_lines,
        turn_cycles=float(each[TURNS]) / waves,
        exposed_cycles=float(each[EXPOSED]) / waves,
        code_lines=code_bytes * min(1.0, float(each[ALL]) / waves / len(instructions)) / LINE_BYTES,
        longest=float(counts[:, ALL].max() / max(each[ALL], 1.0)),
        counted=counted,
    )


def may_be_sampled(kernel: str, shape: GemmShape, gpu: GpuFacts) -> bool:
    """Tell whether a kernel's work for a shape is known before it runs; where it is not, sampled launches run whole.

    Args:
        kernel: Name of the kernel.
        shape: Shape of the product.
        gpu: The GPU.
    """
    row = GEMM_KERNELS[kernel]
    variant = row.splitting.split(shape, gpu, None).variant
    return _is_sliced(
        row.code_object.format(variant=variant), (row.function or row.code_object).format(variant=variant)
    )


@cache
def _is_sliced(source: str, function: str) -> bool:
    try:
        slice_of(kernel_of(source, function))
    except ControlSliceError:
        return False
    return True


def beyond_l1_cycles(gpu: GpuSpec) -> int:
    """Return what a request beyond L1 takes on an idle machine, without DRAM."""
    return (
        gpu.crossbar.request_cycles + gpu.l2.latency_cycles + gpu.l2.fill_latency_cycles + gpu.crossbar.response_cycles
    )


@lru_cache(maxsize=128)
def _counting(kernel: Kernel, cu: ComputeUnitSpec, answer: int) -> tuple[Program, np.ndarray]:
    return kinds_counted(kernel, _kinds(program_of(kernel).instructions, cu, answer))


def _kinds(instructions: Sequence[Instruction], cu: ComputeUnitSpec, answer: int) -> np.ndarray:
    """Return what to count of each instruction: int64 [instructions, BLOCKS], by the columns above.

    answer: cycles to the data of a load that L1 does not have.
    """
    words = code_table(instructions, cu)
    unit = np.array([each.opcode.unit for each in instructions])
    stores = np.array([bool(each.opcode.flags & {"store", "atomic"}) for each in instructions])
    kinds = np.zeros((len(words), BLOCKS), np.int64)
    kinds[:, ALL] = 1
    kinds[:, VALU_CYCLES] = np.where(unit == VALU, words >> CYCLES_SHIFT & CYCLES_MASK, 0)
    kinds[:, MATRIX_CYCLES] = [
        PASS_CYCLES * each.opcode.passes if "matrix" in each.opcode.flags else 0 for each in instructions
    ]
    kinds[:, SCALAR] = (unit == SALU) | (unit == SMEM)
    kinds[:, LDS_ACCESSES] = unit == LDS
    kinds[:, LOADS], kinds[:, STORES] = (unit == VMEM) & ~stores, (unit == VMEM) & stores
    kinds[:, TURNS] = np.maximum(np.maximum(kinds[:, VALU_CYCLES], kinds[:, MATRIX_CYCLES]), TURN_CYCLES)
    kinds[:, EXPOSED] = _exposed(words, unit, kinds[:, TURNS], answer, cu.lds_latency_cycles)
    return kinds


def _exposed(words: np.ndarray, unit: np.ndarray, turns: np.ndarray, answer: int, lds_answer: int) -> np.ndarray:
    """Return the cycles that a wavefront alone waits at each instruction, for accesses before it in the code.

    An access that a loop makes for its next round lies behind the wait, which then is for one before the loop: further
    away, as the round before is too.
    """
    exposed = np.zeros(len(words), np.int64)
    vector: list[int] = []  # when each access that is under way will be answered
    other: list[int] = []
    now = 0
    for k, word in enumerate(words.tolist()):
        if unit[k] == VMEM:
            vector.append(now + answer)
        elif unit[k] in (LDS, SMEM):
            other.append(now + (lds_answer if unit[k] == LDS else answer))
        elif word >> ACTION_SHIFT & ACTION_MASK == WAIT:
            ready = now
            for accesses, shift, mask in ((vector, VM_SHIFT, VM_MASK), (other, LGKM_SHIFT, LGKM_MASK)):
                done = max(0, len(accesses) - (word >> shift & mask))
                ready = max([ready, *accesses[:done]])
                del accesses[:done]
            exposed[k], now = ready - now, ready
        now += int(turns[k])
    return exposed


def _mean(found: np.ndarray, groups: int) -> np.ndarray:
    """Return a workgroup's mean: the first and the last one stand for themselves, the others for all in between."""
    if groups <= len(found):
        return np.asarray(found.mean(axis=0), float)
    between = found[1:-1].mean(axis=0)
    return np.asarray((found[0] + found[-1] + (groups - 2) * between) / groups, float)


class _Access(NamedTuple):
    """What an access takes in the mean: lines of a vector load, and those of them that L1 does not have; lines of a
    store or atomic; bank cycles of an LDS access.
    """

    load_lines: float = EVEN_LINES
    missed_lines: float = EVEN_LINES
    store_lines: float = EVEN_LINES
    lds_cycles: float = EVEN_LINES


def _of_an_access(launch: Launch, workgroup: int, counts: np.ndarray, l1_lines: int) -> _Access:
    """Return what accesses take in a workgroup's first instructions.

    What none of these instructions does is taken to be as even as it can be: 64 lanes with four bytes each.

    Args:
        counts: What all of the workgroup executes, as `_kinds` has it.
        l1_lines: Lines that L1 holds, as if no other workgroup were there.
    """
    if launch.regions:  # whose lines are the engine's
        return _Access()
    pool, loaded = ContextPool(), list[int]()
    address = pool.context(launch, launch.workgroup_at_a_time).trace_address
    trace = np.ctypeslib.as_array((c_int64 * TRACE_WORDS).from_address(address))
    try:
        seen = run_functional(
            launch,
            workgroups=range(workgroup, workgroup + 1),
            observer=lambda progress: progress.wavefront_instructions < PROBED_INSTRUCTIONS,
            pool=pool,
            serve=lambda: loaded.extend(_loaded_lines(trace)),
        )
    except ExecutionFault:
        return _Access()
    stored, accesses = seen.lines["store"] + seen.lines["atomic"], max(seen.instructions["vmem"], 1)
    loads, stores = accesses, 0  # all but a few: stores end a workgroup
    if seen.finished:
        loads, stores = max(int(counts[LOADS]), 1), int(counts[STORES])
    return _Access(
        len(loaded) / loads,
        _missed(loaded, l1_lines) / loads,
        stored / stores if stores else EVEN_LINES,
        seen.lds_cycles / seen.instructions["lds"] if seen.instructions["lds"] else EVEN_LINES,
    )


def _loaded_lines(trace: np.ndarray) -> Iterator[int]:
    """Yield the lines of a slice's vector loads, in order."""
    for header, lines in taken_records(trace):
        if not header & (RECORD_STORE | RECORD_ATOMIC | RECORD_SCALAR | RECORD_LDS):
            yield from lines


def _missed(lines: Sequence[int], kept: int) -> int:
    """Return how many of a sequence of lines are not among the last `kept` or so before them."""
    order = np.arange(len(lines)) // kept
    return len(np.unique(order << LINE_BITS | np.array(lines, np.int64))) if lines else 0

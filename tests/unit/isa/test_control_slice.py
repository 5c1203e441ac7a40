"""Does the slice that decides control flow execute as many instructions as the kernel, workgroup by workgroup?"""

from typing import Any

import numpy as np
import pytest

from isa.device_memory import DeviceMemory
from isa.encoding.instruction import Instruction
from isa.encoding.register_index import successors
from isa.execution.codes import InstructionKind
from isa.execution.control_slice import ControlSliceError, control_slice, needed_instructions
from isa.execution.counting import executed_blocks, slice_of
from isa.execution.emulator import run_functional
from isa.execution.executor import program_of
from isa.kernarg import Pointer, pack
from isa.launch import Launch
from isa.object.code_object import load_code_object
from isa.opcodes.base import BASE
from isa.opcodes.opcode import SALU, Opcode
from workloads.toolchain.build import BENCH_KERNELS_DIR, code_object_path

pytestmark = pytest.mark.compiled_tier
KERNELS = load_code_object(code_object_path("uneven", BENCH_KERNELS_DIR)).kernels
GROUPS = 9


def launch(kernel: str, local: tuple[int, int], **arguments: Any) -> Launch:
    memory = DeviceMemory(1 << 24)
    values = {
        name: Pointer(memory.upload(value, name).address) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    size = (local[0] * GROUPS, local[1], 1)
    return Launch(KERNELS[kernel], memory, pack(KERNELS[kernel], values).block, size, (*local, 1))


def cases() -> list[Launch]:
    rng = np.random.default_rng(3)
    begins = np.concatenate([[0], np.cumsum(rng.integers(0, 300, 64 * GROUPS))]).astype(np.uint32)
    places = rng.integers(0, 64, int(begins[-1])).astype(np.uint32)
    rows = {
        "begins": begins,
        "places": places,
        "values": np.ones(len(places), np.float32),
        "x": np.ones(64, np.float32),
    }
    y = np.zeros(256 * GROUPS, np.float32)
    work = rng.integers(0, 50, GROUPS).astype(np.uint32)
    return [
        launch("looped", (256, 1), work=work, y=y),
        launch("streamed", (256, 1), work=work, x=np.ones(1024, np.float32), y=y, elements=1024),
        launch("two_phases", (64, 1), x=np.ones(1024, np.float32), y=y, first=4, rounds=5, elements=1024),
        launch("csr_scalar", (64, 1), **rows, y=y),
        launch("csr_vector", (64, 1), **rows, y=y),
        launch("mandelbrot", (16, 16), steps=np.zeros(256 * GROUPS, np.uint32), width=16 * GROUPS, height=16, most=80),
    ]


@pytest.mark.parametrize("one", cases(), ids=lambda one: one.kernel.name)
def test_each_workgroup_s_instructions_are_known_and_memory_stays(one: Launch) -> None:
    held = [(one.memory.view(each), one.memory.view(each).copy()) for each in one.memory.allocations]
    found = executed_blocks(one).sum(axis=1)
    assert all(np.array_equal(now, before) for now, before in held)
    alone = [run_functional(one, workgroups=range(k, k + 1)).wavefront_instructions for k in range(GROUPS)]
    assert found.tolist() == alone and len(set(alone)) > 1


def test_what_decides_nothing_is_passed_over() -> None:
    one = cases()[1]  # its loads decide nothing but for the table's
    whole = program_of(one.kernel).table["kind"]
    sliced = control_slice(program_of(one.kernel)).program.table["kind"]
    assert (whole == InstructionKind.FLAT).any() and not (sliced == InstructionKind.FLAT).any()
    assert (sliced == InstructionKind.SMEM).any(), "the table's entry is loaded"


def test_a_kernel_s_slice_is_made_once_and_no_launch_changes_it() -> None:
    counts = [executed_blocks(one).tolist() for one in cases()]
    again = [executed_blocks(one).tolist() for one in reversed(cases())]
    assert counts == again[::-1]
    for one in cases():
        fresh = control_slice(program_of(one.kernel)).program.table
        assert slice_of(one.kernel) is slice_of(one.kernel) and (slice_of(one.kernel).program.table == fresh).all()


def test_kinds_of_work_are_told_apart() -> None:
    blocks = executed_blocks(cases()[2]).astype(float)
    shares = blocks / blocks.sum(axis=1, keepdims=True)
    assert np.allclose(shares[:4], shares[0]) and np.allclose(shares[4:], shares[4])
    assert np.abs(shares[0] - shares[4]).sum() > 0.5


def test_a_clock_that_decides_is_refused() -> None:
    clock = next(one for one in BASE.rows if one.mnemonic == "s_memtime")
    compare = Opcode("s_cmp_lt_u32", "sopc", 10, "ssrc0:u32 ssrc1:u32", SALU)
    branch = Opcode("s_cbranch_scc1", "sopp", 5, "simm16:branch", SALU)
    code = [
        Instruction(0, 8, clock, {"sdata": 4, "sbase": 0, "offset": 0, "imm": 1}),
        Instruction(8, 4, compare, {"ssrc0": 4, "ssrc1": 129}),
        Instruction(12, 4, branch, {"simm16": 0xFFFC}),
    ]
    with pytest.raises(ControlSliceError, match="s_memtime at 0x0 decides"):
        needed_instructions(code, successors(code))
    aside = [code[0], Instruction(8, 4, compare, {"ssrc0": 9, "ssrc1": 129}), code[2]]
    assert needed_instructions(aside, successors(aside)) == [False, True, True]


def test_a_workgroup_that_the_grid_s_edge_cuts_is_told_from_the_others() -> None:
    kernel = load_code_object(code_object_path("irregular", BENCH_KERNELS_DIR)).kernels["histogram"]
    memory = DeviceMemory(1 << 24)
    values = {name: Pointer(memory.upload(np.zeros(8192, np.uint32), name).address) for name in ("keys", "bins")}
    arguments = pack(kernel, {**values, "rounds": 2}).block
    one = Launch(kernel, memory, arguments, (256 * 2 + 64, 1, 1), (256, 1, 1))
    alone = [run_functional(one, workgroups=range(k, k + 1)).wavefront_instructions for k in range(3)]
    assert executed_blocks(one).sum(axis=1).tolist() == alone and alone[0] == alone[1] > alone[2]

"""Are kernels recognised whose workgroups may wait for one another?"""

from pathlib import Path

import pytest

from gpusim.model.sampling.independence import dependence
from isa.encoding.instruction import Instruction
from isa.execution.executor import program_of
from isa.object.code_object import load_code_object
from isa.opcodes.opcode import INTERNAL, SALU, VMEM, Opcode

DATA = Path(__file__).parents[2] / "data/kernels"
LOAD = Opcode("flat_load_dword", "flat", 0x14, "vdst:b32 addr:b64", VMEM, flags=frozenset({"load"}))
SPARSE = Opcode("flat_load_dwordx2", "flat", 0x15, "vdst:b64 addr:b64", VMEM, flags=frozenset({"load"}))
ATOMIC = Opcode("flat_atomic_add", "flat", 0x42, "vdst:b32 addr:b64 data:b32", VMEM, flags=frozenset({"atomic"}))
BRANCH = Opcode("s_cbranch_scc1", "sopp", 5, "simm16:branch", SALU)
SLEEP = Opcode("s_sleep", "sopp", 14, "simm16", INTERNAL)


def program(*parts: tuple[Opcode, dict[str, int]]) -> list[Instruction]:
    return [Instruction(4 * k, 4, opcode, fields) for k, (opcode, fields) in enumerate(parts)]


BACK = (BRANCH, {"simm16": 0xFFFE})  # to the instruction before it


def test_an_atomic_whose_old_value_is_used() -> None:
    assert "flat_atomic_add" in dependence(program((ATOMIC, {"glc": 1})))
    assert dependence(program((ATOMIC, {"glc": 0}))) == ""


def test_a_loop_that_waits() -> None:
    assert "flat_load_dword glc" in dependence(program((LOAD, {"glc": 1}), BACK))
    assert "s_sleep" in dependence(program((SLEEP, {"simm16": 1}), BACK))
    assert dependence(program((LOAD, {"glc": 0}), BACK)) == ""
    assert dependence(program((LOAD, {"glc": 1}))) == ""  # no loop: read once
    assert dependence(program((LOAD, {"glc": 1}), (BRANCH, {"simm16": 1}))) == ""  # onwards


def test_sparse_loads_bear_the_same_bit() -> None:
    assert dependence(program((SPARSE, {"glc": 1}), BACK), sparse=True) == ""
    assert dependence(program((SPARSE, {"glc": 1}), BACK)) != ""
    assert dependence(program((LOAD, {"glc": 1}), BACK), sparse=True) != ""


@pytest.mark.parametrize(("file", "name", "why"), [("vector_add", "vector_add", ""), ("reduction", "", "")])
def test_real_kernels(file: str, name: str, why: str) -> None:
    kernels = load_code_object(DATA / f"{file}.hsaco").kernels
    for kernel in (k for k in kernels.values() if not name or k.name == name):
        assert dependence(program_of(kernel).instructions) == why

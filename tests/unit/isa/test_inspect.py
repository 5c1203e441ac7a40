"""Does a wavefront's state read as what its kernel has computed, by the tables' names?"""

import numpy as np
import pytest

from isa import trace as tr
from isa.execution.executor import FunctionalContext
from isa.execution.inspect import instruction_text, scalar_registers, vector_registers, wavefront_text
from tests.support.functional import Device, kernel
from tests.unit.isa.test_executor_context import call


@pytest.fixture
def context():
    device = Device()
    device.put("big", np.ones(256, np.int32))
    device.put("sums", np.zeros(1, np.int32)), device.put("total", np.zeros(1, np.int32))
    launch = device.launch(kernel("reduction", "reduce_sum"), 256, 256, "big", "sums", "total")
    return FunctionalContext(launch, 4, 1)


def test_a_wavefront_at_a_barrier(context):
    call(context.start_address, context.address, 2, 0, 3)
    assert call(context.produce_address, context.address, 2, 0, 0) == tr.BARRIER
    text = wavefront_text(context, 2, vectors=[0])
    record = {line.split()[0]: line.split()[1] for line in text.splitlines() if line[24:]}
    assert text.startswith("slot 2: at a barrier")
    assert record["number"] == "3" and int(record["executed"]) == context.executed_instructions
    assert record["EXEC"] == "0xffffffffffffffff"
    pc = int(record["pc"])
    assert context.instructions[pc - 1].opcode.mnemonic == "s_barrier"
    assert f"{context.instructions[pc].address:#x}:" in text
    scalars = scalar_registers(context, 2)
    for number in np.flatnonzero(scalars[:102]):
        assert record[f"s{number}"] == f"{scalars[number]:#010x}"
    assert " ".join(f"{word:08x}" for word in vector_registers(context, 2)[0, 8:16]) in text


def test_vector_registers_hold_the_work_item_numbers_at_the_start(context):
    call(context.start_address, context.address, 1, 0, 2)
    assert vector_registers(context, 1)[0].tolist() == list(range(128, 192))


def test_a_slot_without_registers_says_so(context):
    assert wavefront_text(context, 0).endswith("no registers")
    with pytest.raises(ValueError, match="slot 0 holds no registers"):
        vector_registers(context, 0)


def test_an_instruction_shows_its_row(context):
    index = next(i for i, each in enumerate(context.instructions) if each.opcode.mnemonic.startswith("s_cbranch"))
    text = instruction_text(context, index)
    assert "BRANCH" in text and "target" in text and "index of the instruction a branch goes to" in text

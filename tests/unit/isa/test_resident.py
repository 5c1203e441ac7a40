"""Do groups of wavefronts say where they stand, and an endless loop where all of them do?"""

from pathlib import Path

import numpy as np
import pytest

from isa import trace as tr
from isa.execution.emulator import run_functional
from isa.execution.executor import FunctionalContext
from isa.execution.faults import FAULT_LIMIT, FAULT_NO_END, WAVEFRONTS_TO_LIMIT, ExecutionFault
from isa.execution.resident import LISTED_GROUPS, WavefrontGroup, group_lines, grouped, note_resident
from isa.launch import Launch
from isa.object.code_object import load_code_object
from tests.support.functional import Device, kernel
from tests.unit.isa.test_executor_context import call

LINES = Path(__file__).resolve().parents[2] / "data" / "lines" / "lines_dwarf5.hsaco"


def waiting() -> Launch:
    """A workgroup of four wavefronts: three come to a barrier, one never does."""
    device = Device()
    device.put("flag", np.zeros(4, np.int32))
    return device.launch(load_code_object(LINES).kernels["waits"], 256, 256, "flag")


def test_wavefronts_are_grouped_by_instruction_and_state() -> None:
    context = FunctionalContext(waiting(), 4, 1)
    barrier = next(i for i, x in enumerate(context.instructions) if x.opcode.mnemonic == "s_barrier")
    standing = [(barrier, "waiting"), (3, "a"), (barrier, "waiting"), (3, "b")]
    groups = grouped(context.launch.kernel, context.instructions, standing)
    assert [(g.count, g.address, g.state) for g in groups] == [
        (2, context.instructions[barrier].address, "waiting"),
        (1, context.instructions[3].address, "a"),
        (1, context.instructions[3].address, "b"),
    ]
    assert str(groups[0]) == f"2 wavefronts at {groups[0].address:#x} s_barrier [lines.cl:16]: waiting"
    assert str(groups[1]).startswith("1 wavefront at ")


def test_many_groups_are_summed_up() -> None:
    groups = [WavefrontGroup(1000 - n, 4 * n, "s_nop 0", "ready") for n in range(LISTED_GROUPS + 3)]
    lines = group_lines(groups)
    assert len(lines) == LISTED_GROUPS + 1
    assert lines[0] == "1,000 wavefronts at 0x0 s_nop 0: ready"
    assert lines[-1] == f"{sum(g.count for g in groups[LISTED_GROUPS:]):,} wavefronts more at 3 instructions"
    assert len(group_lines(groups[:LISTED_GROUPS])) == LISTED_GROUPS


def test_an_error_gets_one_note() -> None:
    error = ValueError("x")
    note_resident(error, [])
    assert not hasattr(error, "__notes__")
    note_resident(error, [WavefrontGroup(1, 4, "s_nop 0", "ready")])
    assert error.__notes__ == ["where the wavefronts stand:\n  1 wavefront at 0x4 s_nop 0: ready"]


def test_an_endless_loop_says_where_all_wavefronts_stand() -> None:
    with pytest.raises(
        ExecutionFault, match=r"\[lines.cl:1[45]\].*instruction limit of a wavefront.*max_inst"
    ) as caught:
        run_functional(waiting(), 500)
    fault = caught.value
    assert fault.code == FAULT_LIMIT
    at_barrier, looping = fault.resident
    assert (at_barrier.count, at_barrier.instruction, str(at_barrier.source)) == (3, "s_barrier", "lines.cl:16")
    assert at_barrier.state == "waiting at the barrier for the others of its workgroup"
    assert (looping.count, looping.state) == (1, "executing")
    (note,) = fault.__notes__
    assert note == "\n".join(["where the wavefronts stand:", f"  {at_barrier}", f"  {looping}"])


@pytest.mark.compiled_tier  # 40 s in plain Python until the observer is asked
def test_a_stopped_run_says_where_its_workgroup_stands() -> None:
    calls = []
    result = run_functional(waiting(), observer=lambda progress: calls.append(progress) or len(calls) < 4)  # type: ignore[func-returns-value]
    assert not result.finished
    assert [(g.count, g.state == "executing") for g in result.resident] == [(3, False), (1, True)]
    assert (calls[-1].workgroups_total, calls[-1].instructions_expected) == (1, 0)


def test_all_wavefronts_together_reach_a_limit_too() -> None:
    limit, waves = 10, WAVEFRONTS_TO_LIMIT + 1
    device = Device()
    device.put("out", np.zeros(1, np.int32))
    launch = device.launch(kernel("geometry", "endless"), 64 * waves, 64, "out")
    context = FunctionalContext(launch, waves, waves, limit)
    for w in range(waves):
        call(context.start_address, context.address, w, w, w << 32)
    for w in range(waves - 1):
        assert call(context.produce_address, context.address, w, 0, 0) == tr.MORE
    assert context.executed_instructions == limit * WAVEFRONTS_TO_LIMIT
    assert call(context.produce_address, context.address, waves - 1, 0, 0) == FAULT_NO_END
    assert "none has ended within 64 times max_instructions" in str(context.fault())


def test_a_wavefront_that_ends_gives_the_others_more_time() -> None:
    device = Device()
    device.put("a", np.zeros(640, np.float32)), device.put("c", np.zeros(640, np.float32))
    launch = device.launch(load_code_object(LINES).kernels["scale"], 640, 64, "a", "c")
    context = FunctionalContext(launch, 1, 1, 20)  # a wavefront executes 19
    context.state.max_without_end = 20
    assert context.expected_instructions == 0
    for w in range(10):
        call(context.start_address, context.address, 0, w, 0)
        assert call(context.produce_address, context.address, 0, 0, 0) == tr.END
        assert context.expected_instructions == 190


def test_what_is_expected_is_never_less_than_what_was_executed() -> None:
    device = Device()
    device.put("out", np.zeros(1, np.int32))
    context = FunctionalContext(device.launch(kernel("geometry", "endless"), 128, 64, "out"), 2, 2)
    context.state.ended, context.state.ended_instructions, context.state.executed = 1, 10, 5000
    assert context.expected_instructions == 5000


@pytest.mark.compiled_tier  # 40 s in plain Python until the observer is asked
def test_what_is_executed_at_least_goes_by_the_workgroups_that_have_begun() -> None:
    calls = []
    device = Device()
    device.put("out", np.zeros(1, np.int32))
    launch = device.launch(kernel("geometry", "endless"), (640, 2), 64, "out")
    run_functional(launch, observer=lambda progress: bool(calls.append(progress)))
    (progress,) = calls
    assert (progress.workgroups_done, progress.workgroups_total, progress.instructions_expected) == (0, 20, 0)
    assert progress.instructions_at_least == 20 * progress.wavefront_instructions > 0
    context = FunctionalContext(launch, 1, 1)
    context.state.executed = 600
    assert [context.least_instructions(begun) for begun in (0, 3, 20)] == [0, 4000, 600]

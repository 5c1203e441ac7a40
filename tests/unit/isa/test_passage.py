"""Does a wavefront that passes over iterations of its loop go on as if it had executed them?"""

import numpy as np
import pytest

from gpusim.lab.checks.sampling.cases import product
from isa.execution.control_slice import ControlSliceError
from isa.execution.executor import FunctionalContext
from isa.execution.faults import FAULT_PASSAGE, ExecutionFault
from isa.execution.passage import Loop, LoopFastForward, find_loop
from isa.execution.producer import produce
from isa.execution.wave_state import start
from isa.launch import Launch
from isa.trace import BARRIER, END, INSTRUCTIONS, MEMORY_0, MEMORY_WORDS, SEGMENT_0, SEGMENTS
from tests.unit.isa.test_control_slice import cases

pytestmark = pytest.mark.compiled_tier
SIZES = (512, 2304, 2352)  # 294 iterations
BEFORE, PASSED = 11, 38  # iterations


def sliced(launch: Launch, loop: Loop, wave: int, jump: bool) -> list[tuple[int, list[int]]]:
    """Go through a wavefront of the launch's last workgroup; return of each slice its instructions and its trace.

    jump: pass over PASSED iterations once BEFORE are done.
    """
    context = FunctionalContext(launch, wave + 1, 1, shared_trace=True)
    passage = LoopFastForward(context, loop)
    x, y, z = launch.workgroups
    start(context.address, wave, x * y * z - 1, wave)
    words = context._keep["traces"].view(np.int64)
    out, status, done = [], 0, 0
    while status != END:
        status = int(produce(context.address, wave, 0, 0))
        if status < 0:
            raise context.fault()
        segments, memory = int(words[SEGMENTS]), int(words[MEMORY_WORDS])
        trace = [*words[SEGMENT_0 : SEGMENT_0 + segments], *words[MEMORY_0 : MEMORY_0 + memory]]
        out.append((int(words[INSTRUCTIONS]), [int(word) for word in trace]))
        done += status == BARRIER
        if jump and done == BEFORE:
            passage.wanted[wave], jump = PASSED, False
    return out


@pytest.mark.parametrize("wave", [0, 1])
def test_addresses_after_a_jump_are_those_without(wave: int) -> None:
    """The product's loop has a barrier in each iteration, so that slices are iterations; buffers in LDS alternate."""
    launch = product("mi6", *SIZES).launch
    loop = find_loop(launch)
    assert loop.iterations > PASSED + BEFORE and 0 < loop.steps < loop.length / 4
    whole, short = sliced(launch, loop, wave, False), sliced(launch, loop, wave, True)
    assert short[:BEFORE] == whole[:BEFORE]
    assert short[BEFORE:] == whole[BEFORE + PASSED :]
    assert whole[BEFORE] != whole[BEFORE + 1], "addresses move on"


def test_more_iterations_than_there_are_end_the_launch() -> None:
    launch = product("mi6", 512, 2304, 352).launch
    loop = find_loop(launch)
    assert loop.iterations < BEFORE + PASSED
    with pytest.raises(ExecutionFault, match="a loop is not as long") as caught:
        sliced(launch, loop, 0, True)
    assert caught.value.code == FAULT_PASSAGE


def test_a_loop_whose_loads_decide_what_is_accessed_is_refused() -> None:
    gather = next(one for one in cases() if one.kernel.name == "csr_vector")
    with pytest.raises(ControlSliceError, match="no loop whose accesses follow from registers alone"):
        find_loop(gather)

"""How a finding is noted: once for each kind and pair of instructions, with the first work-items and how often."""

from gpusim.base.jit import jit, ld_i64, st_i64
from isa.checking.state import (
    F_ADDRESS,
    F_COUNT,
    F_KIND,
    F_OTHER,
    F_OTHER_PC,
    F_PC,
    F_SPACE,
    F_WHO,
    FINDING_WORDS,
    GROUP_SHIFT,
    MOST_FINDINGS,
    WAVE_SHIFT,
    Check,
)
from isa.execution.state import Wavefront


@jit
def who_of(wave: Wavefront, lane):
    """Return the work-item as a number: its lane, wavefront and workgroup."""
    return wave.workgroup << GROUP_SHIFT | wave.number << WAVE_SHIFT | lane


@jit(cold=True)
def note(check: Check, kind, pc, other_pc, who, other, address, space):
    """Note a finding. other_pc: of the access that it collides with, or the origin of a value; -1: none."""
    for k in range(check.count):
        at = check.findings + 8 * FINDING_WORDS * k
        if ld_i64(at, F_KIND) == kind and ld_i64(at, F_PC) == pc and ld_i64(at, F_OTHER_PC) == other_pc:
            st_i64(at, F_COUNT, ld_i64(at, F_COUNT) + 1)
            return
    if check.count == MOST_FINDINGS:
        check.lost += 1
        return
    at = check.findings + 8 * FINDING_WORDS * check.count
    check.count += 1
    st_i64(at, F_KIND, kind)
    st_i64(at, F_PC, pc)
    st_i64(at, F_OTHER_PC, other_pc)
    st_i64(at, F_WHO, who)
    st_i64(at, F_OTHER, other)
    st_i64(at, F_ADDRESS, address)
    st_i64(at, F_COUNT, 1)
    st_i64(at, F_SPACE, space)

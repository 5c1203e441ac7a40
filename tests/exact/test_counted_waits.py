"""Waits before writes to LDS that are counted, where a kernel was assembled to wait for all of its loads."""

from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.model.core.gpu_spec import GpuSpec
from isa.encoding.control_flow import decode_kernel
from tests.exact.machine import END, LOAD, ONE_LINE, WAIT, run
from tests.support.assembly import Assembly
from workloads.vendor.counted_waits import counted_waits, with_counted_waits

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "counted_waits.hsaco")
OTHER_LOAD = LOAD.replace("v4", "v5")
WRITE, OTHER_WRITE = "    ds_write_b32 v0, v4\n", "    ds_write_b32 v0, v5\n"
BEGIN = ONE_LINE + "    s_mov_b32 m0, -1\n    v_lshlrev_b32 v0, 2, v0\n" + LOAD + OTHER_LOAD


def added(name: str, text: str) -> str:
    return ASSEMBLY.kernel(name, BEGIN + text + END, lds_bytes=1024)


def counts(name: str) -> list[int]:
    """The counts of a kernel's waits before writes to LDS, in the order of their addresses."""
    return [count for _, count in sorted(counted_waits(name, decode_kernel(ASSEMBLY[name])).items())]


# As Tensile prefetches two turns: each write's register is loaded again, for the turn after the next
added(
    "prefetch",
    f"""
    s_movk_i32 s4, 3
.Lturn:
{WAIT}{WRITE}{LOAD}{WAIT}{OTHER_WRITE}{OTHER_LOAD}
    s_sub_i32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 .Lturn
{WAIT}{WRITE}{WAIT}{OTHER_WRITE}""",
)
added("together", WAIT + WRITE + OTHER_WRITE)
added("no_write", WAIT + "    v_mov_b32 v6, v4\n")
added("later_use", WAIT + WRITE + WAIT.replace("0", "1") + "    v_mov_b32 v6, v5\n")
added("into_lds", "    buffer_load_dword v3, s[4:7], 0 offen lds\n" + WAIT + WRITE)


def test_a_wait_lets_the_loads_after_the_one_that_is_needed_be_on_their_way() -> None:
    assert counts("prefetch") == [1, 1, 1, 0]


def test_counted_waits_take_less_time(gpu: GpuSpec) -> None:
    kernel = ASSEMBLY["prefetch"]
    changed = with_counted_waits(kernel)
    waits = [i.fields["simm16"] & 15 for i in decode_kernel(changed) if i.opcode.mnemonic == "s_waitcnt"]
    assert waits == [1, 1, 1, 0]
    assert run(changed, gpu).cycles < run(kernel, gpu).cycles


def test_all_that_is_used_up_to_the_next_wait_counts() -> None:
    assert counts("together") == [0]


@pytest.mark.parametrize("name", ["no_write", "into_lds"])
def test_other_waits_stay(name: str) -> None:
    assert not counts(name)


def test_a_use_that_an_earlier_wait_covered_is_refused() -> None:
    with pytest.raises(UserError, match="kernel 'later_use': the load of a register of 0x"):
        counts("later_use")

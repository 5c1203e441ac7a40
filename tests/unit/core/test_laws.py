"""Counter laws, determinism, and that skipping idle cycles changes nothing, on random scripted kernels."""

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core import simulator
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.laws import laws, who_waits
from gpusim.model.core.loop import DEADLOCK, FINISHED, LIVELOCK, RUNNING
from gpusim.model.core.resident import standing
from memory.address_map import l2_channel
from memory.cache.l2_state import L2Spec
from memory.cache.write_policy import WRITE_POLICIES
from memory.dram.requests import release
from memory.dram.spec import DramSpec
from memory.network.credits import NOT_KNOWN
from memory.network.state import CrossbarSpec
from memory.sets.replacement import POLICIES
from memory.unit_classes import CU_LOOK_UP
from memory.wheel import SIZE
from tests.support.daily import given_daily
from tests.support.machines import LINE, altered, simple, tight
from tests.support.scripted import Script, ScriptedRun

EXAMPLES = (2, 4) if JIT_DISABLED else (5, 24)  # daily, nightly

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("valu"), st.integers(1, 8), st.sampled_from([1, 4])),
        st.tuples(st.just("salu"), st.integers(1, 3)),
        st.tuples(st.just("load"), st.lists(st.integers(0, 300), min_size=0, max_size=8), st.just(4), st.booleans()),
        st.tuples(st.just("store"), st.lists(st.integers(0, 300), min_size=0, max_size=8), st.sampled_from([-1, 15])),
        st.tuples(st.just("lds_reads"), st.integers(1, 4), st.integers(1, 32)),
        st.tuples(st.just("flat_lds"), st.integers(1, 32)),
        st.tuples(st.just("wait"), st.integers(0, 3), st.integers(0, 3)),
        st.tuples(st.just("scalar_load"), st.lists(st.integers(0, 300), min_size=0, max_size=2)),
        st.tuples(st.just("nop"), st.integers(0, 15)),
        st.tuples(st.just("nop"), st.sampled_from([64] if JIT_DISABLED else [64, 1024, 8128])),  # as long as s_sleep
    ),
    max_size=20,
)

SMALL = tight()


# the same behind an ideal interconnect of four packets in ten cycles, and a DRAM whose queues fill
TIGHT = tight(
    crossbar=CrossbarSpec(
        model="ideal",
        ideal_latency_cycles=3,
        ideal_bytes_per_cycle=25.6,
        request_queue_packets=1,
        response_queue_packets=1,
    ),
    dram=DramSpec(channels=1, read_queue=1, write_queue=2, write_high=2, write_low=1),
)


def script(actions: list[tuple], barriers: int) -> Script:
    s = Script()
    for k in range(barriers + 1):
        for name, *rest in actions[k :: barriers + 1]:
            if name in ("load", "store", "scalar_load"):
                rest[0] = [LINE + 37 * x for x in rest[0]]
            getattr(s, name)(*rest)
        if k < barriers:
            s.barrier()
    return s.end()


def run(gpu: GpuSpec, groups: list[list[Script]], every_cycle: bool) -> ScriptedRun:
    r = ScriptedRun(gpu, groups, waves_per_simd=3, workgroups_per_cu=3)
    r.m.run.every_cycle = int(every_cycle)
    assert r.go(1_000_000) == FINISHED
    return r


def _checksums(name: str, part: Any) -> Iterator[tuple[str, int]]:
    """Of all that a record holds, field by field."""
    if not part.dtype.names:
        yield name, zlib.crc32(np.ascontiguousarray(part))
    for field in part.dtype.names or ():
        if field != "snapshot" and f"{name}.{field}" not in PLACES:
            yield from _checksums(f"{name}.{field}", part[field])


# where in its ring or list a packet has been depends on when a side of the crossbar took over what crossed
PLACES = {f"xbar.{field}" for field in ("sent", "answered", "request", "response", "r_head", "r_next", "r_free_slot")}
PLACES |= {f"xbar.o_{field}" for field in ("next", "free_slot", "first", "last", "behind", "youngest")}
PLACES |= {f"xbar.{field}" for field in ("r_first", "r_last", "sends_in", "answers_in")}
PLACES |= {f"xbar.{field}" for field in ("matched", "matching", "delivered")}
PARTS = ("translation", "l1", "scalar", "icache", "l2", "xbar", "dram", "cu")


def differing(one: ScriptedRun, other: ScriptedRun) -> list[str]:
    """In what two runs differ: their length, and the fields of the state in which they left the machine.

    That state has 65 MB: fields are looked at only where the bytes of a part are not the same.
    """
    for r in (one, other):
        for channel in range(int(r.m.map.dram_channels)):
            release(r.m, channel, r.cycles - 1)  # a channel frees its slots when somebody looks
    found = ["cycles"] * (one.cycles != other.cycles)
    pairs = {part: (one.m[part], other.m[part]) for part in PARTS}
    pairs["shortage"] = (one.m.waiting.shortage, other.m.waiting.shortage)
    for name, parts in pairs.items():
        if not np.array_equal(*(np.asarray(part).reshape(-1).view(np.int64) for part in parts)):
            left, right = (dict(_checksums(name, part)) for part in parts)
            found += [field for field in left if left[field] != right[field]]
    return found


@pytest.mark.parametrize("gpu", [SMALL, TIGHT], ids=["small", "tight"])
@given_daily(
    *EXAMPLES, st.lists(ACTIONS, min_size=1, max_size=5), st.integers(0, 2), st.integers(1, 3), st.integers(0, 1)
)
def test_laws_hold_and_idle_cycles_may_be_skipped(
    gpu: GpuSpec, kernels: list, barriers: int, waves: int, early: int
) -> None:
    # all wavefronts but the first may end before a barrier: it waits for those that are left
    groups = [[script(a[w * early :], barriers - min(early * w, barriers)) for w in range(waves)] for a in kernels]
    r = run(gpu, groups, False)
    for law, left, right in laws(r.m, r.instructions):
        assert left == right, law
    assert differing(r, run(gpu, groups, True)) == [], "two runs differ, or running idle units does"


# what the policies of the caches see beside plain loads and stores
MEMORY_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["load", "load", "glc_load"]), st.lists(st.integers(0, 300), max_size=6)),
        st.tuples(
            st.sampled_from(["store", "store", "store", "glc_store", "atomic"]),
            st.lists(st.integers(0, 300), max_size=6),
            st.sampled_from([-1, 15, 0xF0]),
        ),
        st.tuples(st.just("scalar_load"), st.lists(st.integers(0, 300), max_size=2)),
        st.tuples(st.just("invalidate")),
        st.tuples(st.just("wait"), st.integers(0, 3), st.integers(0, 3)),
    ),
    max_size=20,
)


def memory_script(actions: list[tuple]) -> Script:
    s = Script()
    for name, *rest in actions:
        if rest and isinstance(rest[0], list):
            rest[0] = [LINE + 37 * x for x in rest[0]]
        getattr(s, name.removeprefix("glc_"))(*rest)
        if name.startswith("glc_"):
            s.coherent()
    return s.end()


def policies(l1: str, l2: str, small: str, l1_write: tuple[str, bool], l2_write: tuple[str, bool]) -> GpuSpec:
    """TIGHT with these replacement and write policies; small: of scalar and instruction cache and TLBs."""
    return altered(
        TIGHT,
        l1={"replacement": l1, "write": l1_write[0], "write_allocate": l1_write[1]},
        l2={"replacement": l2, "write": l2_write[0], "write_allocate": l2_write[1]},
        scalar_cache={"replacement": small},
        instruction_cache={"replacement": small},
        translation={"l1_entries": 4, "l1_replacement": small, "l2_replacement": small},
    )


POLICY = st.sampled_from(sorted(POLICIES))
WRITE = st.tuples(st.sampled_from(sorted(WRITE_POLICIES)), st.booleans())


@given_daily(
    *EXAMPLES,
    st.lists(MEMORY_ACTIONS, min_size=1, max_size=5),
    st.builds(policies, POLICY, POLICY, POLICY, WRITE, WRITE),
)
def test_laws_hold_under_every_policy(kernels: list[list[tuple]], gpu: GpuSpec) -> None:
    groups = [[memory_script(actions)] for actions in kernels]
    r = run(gpu, groups, False)
    for law, left, right in laws(r.m, r.instructions):
        assert left == right, law
    assert differing(r, run(gpu, groups, True)) == [], "running idle units changes the result"


NARROW = simple(
    shader_arrays=1,
    cus_per_array=4,
    crossbar=CrossbarSpec(
        request_queue_packets=1, request_latency_cycles=1, response_queue_packets=1, response_latency_cycles=1
    ),
    l2=L2Spec(channels=2, interleave_bytes=64, input_queue_packets=1, latency_cycles=40),
)
BEHIND = altered(  # answers leave in two of five cycles, so that channels wait to answer
    NARROW,
    crossbar={"model": "ideal", "ideal_bytes_per_cycle": 25.6, "ideal_latency_cycles": 3},
    l2={"latency_cycles": 1},
)


@pytest.mark.parametrize(
    ("gpu", "loads", "channel", "access"),
    [
        pytest.param(NARROW, 4, 0, "load", id="narrow-load", marks=pytest.mark.compiled_tier),
        pytest.param(NARROW, 4, 0, "store", id="narrow-store", marks=pytest.mark.compiled_tier),
        pytest.param(BEHIND, 1, 1, "load", id="behind-load", marks=pytest.mark.compiled_tier),
        pytest.param(BEHIND, 1, 1, "store", id="behind-store", marks=pytest.mark.compiled_tier),
    ],
)
def test_who_waits_for_a_slot_of_the_crossbar_goes_on_when_there_is_one(
    gpu: GpuSpec, loads: int, channel: int, access: str
) -> None:
    m = ScriptedRun(gpu, [[Script().end()]]).m
    own = [line for line in range(LINE, LINE + 1280) if l2_channel(m, line) == channel]
    lines = [own[160 * cu + 40 * k :][:32] for cu in range(4) for k in range(loads)]
    scripts = [Script() for _ in range(4)]
    for number, wanted in enumerate(lines):
        getattr(scripts[number // loads], access)(wanted)
    groups = [[s.end()] for s in scripts]
    assert differing(run(gpu, groups, False), run(gpu, groups, True)) == []


@pytest.mark.parametrize("access", ["load", pytest.param("store", marks=pytest.mark.compiled_tier)])
def test_look_up_is_not_tried_again_before_its_full_port_has_space(access: str) -> None:
    m = ScriptedRun(NARROW, [[Script().end()]]).m
    own = [line for line in range(LINE, LINE + 1280) if l2_channel(m, line) == 0]
    scripts = [Script() for _ in range(4)]  # one a CU: four ports of one channel
    for number in range(16):
        getattr(scripts[number // 4], access)(own[40 * number :][:32])
    r = ScriptedRun(NARROW, [[script.end()] for script in scripts])
    visits, status = 0, RUNNING
    while status == RUNNING:
        visits += int(r.m.wheel.row[int(r.m.wheel.now) & (SIZE - 1), CU_LOOK_UP]) & 1
        status = r.go(int(r.m.wheel.now) + 1)
    assert status == FINISHED and r.m.l1.stall_cycles > 4 * 128  # ports are full most of the time
    # each line once; in vain where its instruction or its page is new
    assert visits < 1.25 * 128


def test_a_store_of_no_lane_is_done_in_the_cycle_after_its_look_up() -> None:
    r = run(NARROW, [[Script().store([]).wait(vm=0).end()]], False)
    assert r.m.l1.writes == 0 and r.cycles < 100
    assert differing(r, run(NARROW, [[Script().store([]).wait(vm=0).end()]], True)) == []


@pytest.mark.compiled_tier  # of the simulator's loop, which is never compiled
def test_units_at_work_without_progress_are_a_livelock(monkeypatch: pytest.MonkeyPatch) -> None:
    # a port that never has space: fetch asks again in every cycle, and nothing comes of it
    monkeypatch.setattr(simulator, "STUCK_CYCLES", 3 * simulator.FIRST_CHUNK_CYCLES)
    r = ScriptedRun(SMALL, [[Script().end()]])
    r.m.xbar.request_credits["next"] = 0  # no credit, none with a packet
    r.m.xbar.request_credits["at"] = NOT_KNOWN
    assert simulator._loop(r.m, None, None) == LIVELOCK
    ((_, state),) = standing(r.m)
    assert state.startswith("waiting for instruction fetch")


def test_a_deadlock_says_who_waits_for_what() -> None:
    # a store that may never be acknowledged keeps the others in look-up; the queue before it fills up
    script = Script().store([LINE])
    for n in range(8):
        script.load([LINE + 640 * n])
    gpu = altered(NARROW, l1={"queue_instructions": 8})
    r = ScriptedRun(gpu, [[script.load([LINE]).wait(vm=0).end()]])
    r.m.l1.store_limit = 0
    assert r.go() == DEADLOCK
    assert "waited for: a store's answer, vector L1 0" in who_waits(r.m)
    assert "waited for: a slot of the vector memory queue, CU 0 (by SIMD 0)" in who_waits(r.m)


@pytest.mark.compiled_tier  # random scripts have such accesses
@pytest.mark.parametrize("slots", [1, 2])
def test_a_slot_that_a_flat_access_to_lds_leaves_goes_to_the_next_simd(slots: int) -> None:
    gpu = altered(SMALL, l1={"queue_instructions": slots})
    groups = [[Script().load([LINE + 64 * w]).flat_lds().load([LINE + 64 * w + 7]).flat_lds().end() for w in range(12)]]
    assert differing(run(gpu, groups, False), run(gpu, groups, True)) == []

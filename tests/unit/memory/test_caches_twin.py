"""L1 and L2 against plain-Python caches without latencies: the same hits, misses and lines held, in the same order."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.loop import FINISHED
from memory.address_map import l2_channel, l2_local_line
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l1 import L1Spec
from memory.cache.l2 import L2Spec
from memory.cache.sets import NO_TAG
from memory.dram.spec import DramSpec
from tests.support.machines import LINE
from tests.support.scripted import Script, ScriptedRun

L2_CHANNELS, L2_WAYS = 2, 4

SMALL = GpuSpec(
    shader_arrays=1,
    cus_per_array=1,
    instruction_cache=InstructionCacheSpec(model="ideal"),  # only data in L2
    l1=L1Spec(size_kib=1, ways=4),
    l2=L2Spec(size_kib=4, channels=L2_CHANNELS, ways=L2_WAYS, interleave_bytes=64),
    dram=DramSpec(model="ideal"),
)
L1_SETS = SMALL.l1.size_kib * 16 // SMALL.l1.ways
L1_WAYS = SMALL.l1.ways
L2_SETS = SMALL.l2.size_kib * 16 // L2_CHANNELS // L2_WAYS


class NaiveCache:
    """Sets of lines in order of use, the least recently used first."""

    def __init__(self, ways: int) -> None:
        self.ways = ways
        self.sets: dict[object, list[int]] = {}

    def holds(self, key: object, line: int) -> bool:
        return line in self.sets.get(key, [])

    def use(self, key: object, line: int) -> None:
        lines = self.sets.setdefault(key, [])
        if line in lines:
            lines.remove(line)
        elif len(lines) == self.ways:
            lines.pop(0)
        lines.append(line)


class NaiveMemory:
    """Write-through L1 without allocation on write, over a write-back L2 with masks of the bytes it holds."""

    def __init__(self, run: ScriptedRun) -> None:
        self.run = run
        self.l1, self.l2 = NaiveCache(L1_WAYS), NaiveCache(L2_WAYS)
        self.dirty: dict[int, int] = {}
        self.held: dict[int, int] = {}
        self.counts = dict.fromkeys(("l1 hits", "l1 misses", "l2 hits", "l2 misses", "write backs"), 0)

    def _l2(self, line: int, mask: int | None) -> None:
        key = (int(l2_channel(self.run.m, line)), int(l2_local_line(self.run.m, line)) % L2_SETS)
        full = (1 << 64) - 1
        there = self.l2.holds(key, line)
        if not there:
            lines = self.l2.sets.get(key, [])
            if len(lines) == L2_WAYS:
                victim = lines[0]
                self.counts["write backs"] += victim in self.dirty
                self.dirty.pop(victim, None)
                self.held.pop(victim, None)
        if mask is not None:
            self.held[line] = self.held.get(line, 0) | mask
            self.dirty[line] = self.dirty.get(line, 0) | mask
            self.counts["l2 hits" if there else "l2 misses"] += 1
        else:
            hit = there and self.held.get(line) == full
            self.counts["l2 hits" if hit else "l2 misses"] += 1
            self.held[line] = full
        self.l2.use(key, line)

    def load(self, line: int) -> None:
        key = line % L1_SETS
        hit = self.l1.holds(key, line)
        self.counts["l1 hits" if hit else "l1 misses"] += 1
        self.l1.use(key, line)
        if not hit:
            self._l2(line, None)

    def store(self, line: int, mask: int) -> None:
        self.counts["l1 misses"] += 1
        self._l2(line, mask)


ACCESSES = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from([None, None, None, (1 << 64) - 1, 0xFF])), min_size=1, max_size=150
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(ACCESSES)
def test_one_access_after_another_finds_what_a_naive_cache_finds(accesses: list[tuple[int, int | None]]) -> None:
    script = Script()
    for offset, mask in accesses:
        if mask is None:
            script.load([LINE + offset]).wait(vm=0)
        else:
            script.store([LINE + offset], -1 if mask == (1 << 64) - 1 else mask).wait(vm=0)
    run = ScriptedRun(SMALL, [[script.end()]])
    assert run.go() == FINISHED
    naive = NaiveMemory(run)
    for offset, mask in accesses:
        if mask is None:
            naive.load(LINE + offset)
        else:
            naive.store(LINE + offset, mask)
    l1, l2 = run.m.l1, run.m.l2
    assert naive.counts == {
        "l1 hits": int(l1.hits),
        "l1 misses": int(l1.misses),
        "l2 hits": int(l2.hits),
        "l2 misses": int(l2.misses),
        "write backs": int(l2.write_backs),
    }
    for (channel, index), lines in naive.l2.sets.items():  # type: ignore[misc]
        assert oldest_first(l2, channel * L2_SETS + index, L2_WAYS) == lines
    for index, lines in naive.l1.sets.items():
        assert oldest_first(l1, index, L1_WAYS) == lines  # type: ignore[arg-type]


def oldest_first(cache: Any, row: int, ways: int) -> list[int]:
    """Lines that a cache holds in a set."""
    stride = int(cache.stride)
    words = cache.rows[2 * row * stride : 2 * (row + 1) * stride]
    tags, ages = words[:ways], words[stride : stride + ways]
    return [int(tag) for _, tag in sorted(zip(ages, tags, strict=True)) if tag != NO_TAG]

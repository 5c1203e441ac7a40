"""L1 and L2 under every replacement and write policy against caches without time: the same hits, write-backs and lines.

One access follows the other, so that the order of accesses is the script's and nothing depends on latencies.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example
from hypothesis import strategies as st
from pydantic import ValidationError

from gpusim.base.jit import JIT_DISABLED, address_in
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.laws import laws
from gpusim.model.core.loop import FINISHED
from memory.address_map import l2_channel, l2_local_line
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import DIRTY, L2Spec, bytes_of
from memory.cache.write_policy import WRITE_POLICIES
from memory.dram.spec import DramSpec
from memory.dram.state import dram_totals, queued_bytes
from memory.sets.replacement import POLICIES
from memory.sets.rows import line_in
from tests.support.daily import given_daily
from tests.support.machines import LINE, simple
from tests.support.reference_cache import WHOLE, ReferenceCache, ReferenceWrites, lines_of
from tests.support.scripted import Script, ScriptedRun

CHANNELS = 2
HALF = 0xFFFF_FFFF  # the first half of a line
WRITES = [(write, allocate) for write in WRITE_POLICIES for allocate in (False, True)]


def machine(l1: dict[str, Any] | None = None, l2: dict[str, Any] | None = None, **parts: Any) -> GpuSpec:
    """One CU, an L1 of 16 lines and an L2 of 64, both of four ways."""
    return simple(
        **parts,
        shader_arrays=1,
        cus_per_array=1,
        l1=L1Spec(**{"size_kib": 1, "ways": 4, **(l1 or {})}),
        l2=L2Spec(**{"size_kib": 4, "channels": CHANNELS, "ways": 4, "interleave_bytes": 64, **(l2 or {})}),
    )


class ReferenceMemory:
    """The L1 of one CU over an L2, each with the policies of a machine's."""

    def __init__(self, gpu: GpuSpec, m: Any) -> None:
        self.m = m
        sets = gpu.l1.size_kib * 16 // gpu.l1.ways
        self.l1 = ReferenceWrites(
            ReferenceCache(sets, gpu.l1.ways, gpu.l1.replacement), gpu.l1.write, gpu.l1.write_allocate, self.l2
        )
        self.tracks = gpu.l1.write == "back" or gpu.l1.write_allocate
        self.parts = gpu.l2.line_bytes // 64
        sets = gpu.l2.size_kib * 16 // self.parts // CHANNELS // gpu.l2.ways
        self.channels = [
            ReferenceWrites(
                ReferenceCache(sets, gpu.l2.ways, gpu.l2.replacement, number=channel),
                gpu.l2.write,
                gpu.l2.write_allocate,
                self.dram,
                self.parts,
            )
            for channel in range(CHANNELS)
        ]
        self.traffic = {"read": 0, "write": 0}
        self.written: list[int] = []  # masks of what went to DRAM
        self.through = 0
        self.requests = {"reads": 0, "writes": 0, "atomics": 0, "bytes_written": 0, "writes_around": 0}

    def dram(self, kind: str, line: int, mask: int) -> None:
        self.traffic[kind] += 1
        self.written += [mask] * (kind == "write")

    def _places(self, line: int) -> tuple[ReferenceWrites, int]:
        """The channel of a line, and its number there, which decides the set."""
        return self.channels[int(l2_channel(self.m, line))], int(l2_local_line(self.m, line))

    def l2(self, kind: str, line: int, mask: int) -> None:
        channel, line = self._places(line)
        found = channel.holds(line)
        self.requests[f"{kind}s"] += 1
        self.requests["bytes_written"] += 0 if kind == "read" else mask.bit_count()
        if kind == "read":
            return channel.read(line)
        if kind == "atomic":
            whole = channel.held.get(line) == WHOLE
            channel.read(line)
            if not channel.back:  # it is looked up again when its line is there, and then goes on
                if not whole:
                    channel.use(line)
                self.through += 1
                return self.dram("write", line, mask)
            return channel.keep(line, mask, dirty=True)
        channel.counts["hits" if found else "misses"] += 1
        self.requests["writes_around"] += not found and not channel.allocate
        if not channel.back or not (found or channel.allocate):
            self.through += 1
            self.dram("write", line, mask)
        if found or channel.allocate:
            channel.counts["write_allocations"] += not found
            channel.use(line)
            channel.keep(line, mask, dirty=channel.back)
        return None

    def load(self, line: int) -> None:
        self.l1.read(line)

    def glc_load(self, line: int) -> None:
        self.l1.clean(line)
        self.l1.counts["misses"] += 1
        self.l2("read", line, WHOLE)

    def _store(self, line: int, mask: int, glc: bool) -> None:
        l1, found = self.l1, self.l1.lines.holds(line)
        below = glc or not l1.back or not (found or l1.allocate)
        if glc:
            l1.clean(line)
        l1.counts["hits" if found and not below else "misses"] += 1
        if self.tracks and (found or (l1.allocate and not glc)):
            l1.counts["write_allocations"] += not found and not below
            l1.use(line)
            l1.keep(line, mask, dirty=not below)
        if below:
            self.l2("write", line, mask)

    def store(self, line: int, mask: int) -> None:
        self._store(line, mask, False)

    def glc_store(self, line: int, mask: int) -> None:
        self._store(line, mask, True)

    def atomic(self, line: int, mask: int) -> None:
        self.l1.clean(line)
        self.l1.counts["misses"] += 1
        self.l2("atomic", line, mask)

    def invalidate(self) -> None:
        self.l1.forget()

    def play(self, accesses: list[tuple[str, int, int]]) -> None:
        for kind, offset, mask in accesses:
            if kind == "invalidate":
                self.invalidate()
            elif "load" in kind:
                getattr(self, kind)(LINE + offset)
            else:
                getattr(self, kind)(LINE + offset, mask)
        self.l1.clean_all()  # the kernel is over


def run(gpu: GpuSpec, accesses: list[tuple[str, int, int]]) -> ScriptedRun:
    script = Script()
    for kind, offset, mask in accesses:
        signed = mask - (1 << 64) if mask >> 63 else mask
        if kind == "invalidate":
            script.invalidate()
        elif "load" in kind:
            script.load([LINE + offset])
        else:
            (script.atomic if kind == "atomic" else script.store)([LINE + offset], signed)
        if kind.startswith("glc"):
            script.coherent()
        script.wait(vm=0)
    r = ScriptedRun(gpu, [[script.end()]])
    assert r.go() == FINISHED
    for law, left, right in laws(r.m, r.instructions):
        assert left == right, law
    return r


def compare(gpu: GpuSpec, accesses: list[tuple[str, int, int]]) -> ReferenceMemory:
    m = run(gpu, accesses).m
    plain = ReferenceMemory(gpu, m)
    plain.play(accesses)
    for name, count in plain.l1.counts.items():
        assert (name, int(getattr(m.l1, name))) == (name, count)
    for name in plain.channels[0].counts:
        expected = sum(channel.counts[name] for channel in plain.channels)
        assert (name, int(m.l2[name].sum())) == (name, expected)
    assert int(m.l2.write_throughs) == plain.through
    for name, count in (plain.requests | {"reads_answered": plain.requests["reads"]}).items():
        assert (name, int(getattr(m.l2, name))) == (name, count)
    sets = gpu.l2.size_kib * 16 // plain.parts // CHANNELS // gpu.l2.ways
    assert plain.traffic == {"read": int(m.l2.fills), "write": int(m.l2.write_backs + m.l2.write_throughs)}
    assert lines_of(m.l1.rows, len(plain.l1.lines.sets), gpu.l1.ways) == [row.lines for row in plain.l1.lines.sets]
    for number, channel in enumerate(plain.channels):
        held = lines_of(m.l2.rows, sets, gpu.l2.ways, first=number * sets)
        local = [[None if x is None else int(l2_local_line(m, x)) // plain.parts for x in row] for row in held]
        assert local == [row.lines for row in channel.lines.sets]
    assert dirty_bytes(m) == {
        (number, line): mask for number, channel in enumerate(plain.channels) for line, mask in channel.dirty.items()
    }
    assert int(m.l2.bytes_to_dram) == sum(mask.bit_count() for mask in plain.written)
    compare_dram(m, plain.written)
    return plain


def dirty_bytes(m: Any) -> dict[tuple[int, int], int]:
    """By channel and number there, the bytes of L2's lines that DRAM has not."""
    bits = int(m.l2.part_bits)
    parts = int(m.l2.sets * m.l2.stride) << bits
    found = {}
    for part in range(int(m.l2.channels) * parts):
        mask = int(bytes_of(m, part, DIRTY)) & WHOLE
        if mask:
            line = int(line_in(address_in(m.l2.rows, 0), int(m.l2.stride), part >> bits)) | part & (1 << bits) - 1
            found[part // parts, int(l2_local_line(m, line))] = mask
    return found


def compare_dram(m: Any, masks: list[int]) -> None:
    """What DRAM wrote of these masks, in bursts of half a line, once the rest of its queue is written."""
    counts = dram_totals(m)
    assert counts.bytes_dirty + counts.bytes_merged + queued_bytes(m) == sum(mask.bit_count() for mask in masks)
    halves = [mask >> 32 * half & HALF for mask in masks for half in range(2)]
    if not m.dram.ideal and counts.write_merges == queued_bytes(m) == 0:
        assert counts.bytes_written == 32 * sum(half != 0 for half in halves)
        assert counts.masked_bursts == sum(half not in (0, HALF) for half in halves)


ACCESSES = st.lists(
    st.tuples(
        st.sampled_from(["load", "load", "load", "store", "store", "atomic", "glc_load", "glc_store", "invalidate"]),
        st.integers(0, 6) | st.integers(0, 90),  # some lines again and again, and more than the caches hold
        st.sampled_from([WHOLE, 0xFF, 0xFF00, 0xF << 60]),
    ),
    min_size=1,
    max_size=120,
)


@given_daily(
    *((12, 30) if JIT_DISABLED else (40, 120)),
    ACCESSES,
    *[st.sampled_from(sorted(POLICIES))] * 2,
    *[st.sampled_from(WRITES)] * 2,
    st.sampled_from([64, 128]),
)
@example([("load", 0, 0), ("store", 0, 0xFF)], "lru", "lru", ("through", False), ("back", True), 64)
@example([("store", 1, WHOLE), ("load", 0, 0), ("load", 1, 0)], "lru", "lru", ("through", False), ("back", True), 128)
def test_one_access_after_another_finds_what_the_reference_finds(
    accesses: list[tuple[str, int, int]],
    l1_policy: str,
    l2_policy: str,
    l1_write: tuple[str, bool],
    l2_write: tuple[str, bool],
    line_bytes: int,
) -> None:
    gpu = machine(
        {"replacement": l1_policy, "write": l1_write[0], "write_allocate": l1_write[1]},
        {
            "replacement": l2_policy,
            "write": l2_write[0],
            "write_allocate": l2_write[1],
            "line_bytes": line_bytes,
            "port_bytes": line_bytes,
            "interleave_bytes": line_bytes,
        },
    )
    compare(gpu, accesses)


PARTS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 7), st.integers(1, 255), st.sampled_from([1, 2, 4, 8])),
    min_size=1,
    max_size=150,
)


@given_daily(
    *((8, 20) if JIT_DISABLED else (25, 80)),
    PARTS,
    st.sampled_from(sorted(POLICIES)),
    st.sampled_from(["gddr5", "hbm1"]),
    st.booleans(),
    st.sampled_from([64, 128]),
)
def test_every_byte_stored_in_parts_reaches_dram_once_for_each_eviction(
    parts: list[tuple[int, int, int, int]], policy: str, standard: str, flush: bool, line_bytes: int
) -> None:
    # runs of up to eight pieces of a line, of one to eight bytes, stored again and again to 40 lines in two sets
    accesses = []
    for offset, first, pieces, size in parts:
        mask = sum(((1 << size) - 1) << size * k for k in range(8) if pieces >> k & 1)
        accesses.append(("store", offset, mask << 8 * first & WHOLE or WHOLE))
    dram = DramSpec(standard=standard, channels=1, write_idle_clocks=0)
    lines = {"size_kib": line_bytes // 64, "line_bytes": line_bytes, "interleave_bytes": line_bytes}
    l2 = {"replacement": policy, "port_bytes": line_bytes, **lines}
    gpu = machine(l2=l2, dram=dram)
    plain = compare(gpu, accesses)
    if flush:
        left = [mask for channel in plain.channels for mask in channel.dirty.values()]
        m = run(machine(l2={**l2, "flush_at_end": True}, dram=dram), accesses).m
        assert dirty_bytes(m) == {}
        compare_dram(m, plain.written + left)


# --- exact cases, one of each behaviour ---


def traffic(gpu: GpuSpec, *accesses: tuple[str, int, int]) -> dict[str, int]:
    m = compare(gpu, list(accesses)).m
    names = {"l1_hits": m.l1.hits, "packets": m.xbar.requests, "l1_write_backs": m.l1.write_backs}
    dram = {"dram_reads": m.l2.fills, "dram_writes": m.l2.write_backs + m.l2.write_throughs}
    return {name: int(count) for name, count in (names | dram).items() if count}


STORES = [("store", 0, HALF), ("store", 0, WHOLE ^ HALF)]


def test_l1_write_through_sends_every_store_to_l2() -> None:
    assert traffic(machine(), *STORES) == {"packets": 2}


def test_l1_write_back_sends_what_was_stored_once_when_the_kernel_is_over() -> None:
    gpu = machine({"write": "back", "write_allocate": True})
    assert traffic(gpu, *STORES) == {"l1_hits": 1, "packets": 1, "l1_write_backs": 1}


def test_a_line_stored_to_in_part_is_fetched_by_a_load_and_keeps_its_bytes() -> None:
    gpu = machine({"write": "back", "write_allocate": True})
    assert traffic(gpu, STORES[0], ("load", 0, 0), ("load", 0, 0)) == {
        "l1_hits": 1,
        "packets": 2,
        "l1_write_backs": 1,
        "dram_reads": 1,
    }


def test_a_line_stored_to_whole_is_not_fetched() -> None:
    for write in WRITE_POLICIES:
        gpu = machine({"write": write, "write_allocate": True})
        found = traffic(gpu, *STORES, ("load", 0, 0))
        assert found["l1_hits"] == (1 if write == "through" else 2)
        assert "dram_reads" not in found


def test_without_allocation_a_store_that_misses_goes_on_and_one_that_hits_stays() -> None:
    gpu = machine({"write": "back", "write_allocate": False})
    assert traffic(gpu, *STORES) == {"packets": 2}
    assert traffic(gpu, ("load", 0, 0), *STORES) == {
        "l1_hits": 2,
        "packets": 2,
        "l1_write_backs": 1,
        "dram_reads": 1,
    }


@pytest.mark.parametrize("kind", ["atomic", "glc_load", "glc_store"])
def test_what_is_done_in_l2_finds_there_what_the_cu_has_stored(kind: str) -> None:
    gpu = machine({"write": "back", "write_allocate": True})
    found = traffic(gpu, STORES[0], (kind, 0, HALF))
    assert (found["packets"], found["l1_write_backs"]) == (2, 1)


def test_a_line_written_back_is_still_held() -> None:
    gpu = machine({"write": "back", "write_allocate": True})
    found = traffic(gpu, ("store", 0, WHOLE), ("atomic", 0, HALF), ("load", 0, 0))
    assert (found["l1_hits"], found["packets"]) == (1, 2)


@pytest.mark.parametrize("second", [("store", 0, 0xFF00), ("atomic", 0, 0xFF00)])
@pytest.mark.parametrize("fetched", [True, False])
def test_what_l2_holds_dirty_grows_by_what_is_stored(second: tuple[str, int, int], fetched: bool) -> None:
    # an atomic on a line that is there in part has the rest fetched, and leaves its bytes dirty beside those stored
    accesses = [("store", 0, 0xFF), *[("load", 0, 0)] * fetched, second]
    assert list(dirty_bytes(compare(machine(), accesses).m).values()) == [0xFFFF]


def test_an_invalidation_writes_back_first() -> None:
    gpu = machine({"write": "back", "write_allocate": True})
    m = run(gpu, [("store", 0, WHOLE), ("store", 1, WHOLE), ("invalidate", 0, 0), ("load", 0, 0)]).m
    assert (int(m.l1.write_backs), int(m.l2.writes), int(m.l2.reads), int(m.l2.fills)) == (2, 2, 1, 0)


def test_the_kernel_is_over_when_its_last_dirty_line_is_in_l2() -> None:
    stores = [("store", line, WHOLE) for line in range(8)]
    gpu = machine({"write": "back", "write_allocate": True})
    kept, sent = run(gpu, stores), run(machine(), stores[:1])
    # the last store stays in L1; then eight write-backs leave in a row, and the last is acknowledged as any store is
    assert kept.cycles > sent.cycles
    assert int(kept.m.xbar.responses) == 8


@pytest.mark.parametrize(
    ("write", "allocate", "expected"),
    [
        ("back", True, {"packets": 3}),
        ("back", False, {"packets": 3, "dram_reads": 1, "dram_writes": 2}),
        ("through", True, {"packets": 3, "dram_writes": 2}),
        ("through", False, {"packets": 3, "dram_reads": 1, "dram_writes": 2}),
    ],
)
def test_writes_of_l2(write: str, allocate: bool, expected: dict[str, int]) -> None:
    gpu = machine(l2={"write": write, "write_allocate": allocate})
    assert traffic(gpu, *STORES, ("load", 0, 0)) == expected


@pytest.mark.parametrize("allocate", [True, False])
def test_a_line_written_through_is_clean_when_it_goes(allocate: bool) -> None:
    gpu = machine(l2={"write": "through", "write_allocate": allocate, "size_kib": 1})  # two sets of four ways a channel
    lines = [("load", 2 * k, 0) for k in range(20)]
    found = traffic(gpu, ("store", 0, WHOLE), ("load", 2, 0), ("store", 2, WHOLE), *lines)
    assert found["dram_writes"] == 2


LONG = {"line_bytes": 128, "interleave_bytes": 128}


@pytest.mark.parametrize("lines", [1, 2, 7, 16])
def test_of_a_stream_of_64_bytes_each_second_read_hits_in_lines_of_128(lines: int) -> None:
    m = compare(machine(l2=LONG), [("load", line, 0) for line in range(2 * lines)]).m
    assert (int(m.l2.misses), int(m.l2.hits), int(m.l2.fills), int(m.l2.paired_fetches)) == (
        lines,
        lines,
        2 * lines,
        lines,
    )


def test_of_a_line_of_128_bytes_only_what_is_not_there_in_whole_is_fetched() -> None:
    assert traffic(machine(l2=LONG), ("store", 1, WHOLE), ("load", 0, 0), ("load", 1, 0)) == {
        "packets": 3,
        "dram_reads": 1,
    }
    assert traffic(machine(l2=LONG), ("store", 1, HALF), ("load", 0, 0), ("load", 1, 0)) == {
        "packets": 3,
        "dram_reads": 2,
    }


def test_of_a_line_of_128_bytes_only_the_dirty_half_is_written_back() -> None:
    # four ways of one set of a channel, then a fifth line: the first goes, with the 64 bytes that were stored
    l2 = {**LONG, "size_kib": 1, "ways": 4}
    with pytest.raises(ValidationError, match="128-byte lines gives 1 sets"):
        machine(l2=l2)
    stores = [("store", 8 * line + line % 2, WHOLE) for line in range(5)]
    assert traffic(machine(l2={**l2, "size_kib": 2}), *stores) == {"packets": 5, "dram_writes": 1}


@pytest.mark.parametrize("values", [{"interleave_bytes": 64}, {"channel_masks": [0x1000 | 0x40]}, {"line_bytes": 256}])
def test_a_line_of_128_bytes_lies_in_one_channel(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(values))):
        machine(l2={"line_bytes": 128, "interleave_bytes": 4096, **values})


def test_a_channel_moves_no_more_than_a_line_in_a_cycle() -> None:
    with pytest.raises(ValidationError, match="port_bytes: 128 is more than line_bytes = 64"):
        machine(l2={"port_bytes": 128})


def test_an_atomic_of_a_write_through_l2_waits_for_its_line_and_goes_on() -> None:
    gpu = machine(l2={"write": "through", "write_allocate": False})
    assert traffic(gpu, ("atomic", 0, 0xFF), ("atomic", 0, 0xFF)) == {
        "packets": 2,
        "dram_reads": 1,
        "dram_writes": 2,
    }


def test_the_evicted_l1_line_is_the_one_that_the_policy_chooses() -> None:
    # four lines of a set, the first of them used again, then a fifth: FIFO lets the first go, LRU and the tree do not
    accesses = [("load", 4 * k, 0) for k in (0, 1, 2, 3, 0, 4, 0)]
    hits = {
        policy: traffic(machine({"replacement": policy}), *accesses)["l1_hits"] for policy in ("lru", "fifo", "plru")
    }
    assert hits == {"lru": 2, "fifo": 1, "plru": 2}


@pytest.mark.parametrize("kept", [{"write": "back"}, {"write_allocate": True}])
def test_loads_that_pass_l1_would_not_find_what_stores_left_there(kept: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="bypass: loads that pass the cache would not find"):
        L1Spec(bypass=True, **kept)


def test_an_unknown_policy_is_refused() -> None:
    def allowed(names: Iterable[str]) -> str:
        *others, last = map(repr, names)
        return f"{', '.join(others)} or {last}"

    with pytest.raises(ValidationError, match=allowed(POLICIES)):
        L2Spec(replacement="no_policy")
    with pytest.raises(ValidationError, match=allowed(WRITE_POLICIES)):
        L1Spec(write="around")

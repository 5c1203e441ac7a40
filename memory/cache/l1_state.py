"""What the vector L1 caches are configured by and what they hold: queue, sets, MSHRs and return entries of each CU."""

from typing import Literal

from pydantic import model_validator

from gpusim.base.jit import LANES, Field, Machine, State, address_in, counter_fields, i16, i32, jit, u32
from gpusim.base.spec import Spec, param
from isa.trace import MAX_IMAGE_LINES
from memory.cache.counters import L1_COUNTERS
from memory.cache.missing import MAX_MSHRS, MISSING, configure_misses, configure_sets
from memory.cache.write_policy import BACK, Write, write_allocate_param, write_number, write_param
from memory.network.state import MAX_CUS
from memory.sets.replacement import Replacement, check_replacement, replacement_param
from memory.sets.rows import next_order, set_fields

MAX_L1_LINES = 1024  # a CU: 64 KiB
MAX_SLOTS = LANES * MAX_L1_LINES
MAX_QUEUE = 64  # vector memory instructions that may wait at an L1; a power of two
MAX_RETURN = 256
MAX_TARGETS = 1024  # as many as `missing.MAX_TARGETS` at most
NEAR_WORDS = 8  # an instruction of no more line words has them beside those of the others
FAR_WORDS = MAX_IMAGE_LINES + 8  # off the powers of two
DIRECT = 1 << 20  # in a source's id: the answer goes to a return entry, past the cache
WRITE_BACK = 1 << 21  # a source's id: a line written back, for which no instruction waits

HIT, MERGE, MISS, STALL = range(4)  # what becomes of a look-up

# set by the core in a queued header
FLAG_BYPASS = 1 << 29  # do not look up, do not allocate
FLAG_INVALIDATE = 1 << 30  # empty the cache


class L1Spec(Spec):
    """Vector L1 cache and the CU's vector memory path."""

    size_kib: int = param(16, "capacity in KiB", "GCN3: 16 KB a CU (Dong 2020, table 6.3)", ge=1, le=64)
    ways: int = param(4, "associativity", "Dong 2020, table 6.3", ge=1, le=64)
    replacement: Replacement = replacement_param("AMD GCN whitepaper (2012): LRU")
    hit_latency_cycles: int = param(
        116,
        "cycles from tag look-up to the first data beat of a hit",
        "a dependent load that hits takes 124 cycles, as on MI210 (mt4g, gpu-benches); MI100: 136; none found of GCN3",
        ge=1,
        le=900,
    )
    fill_latency_cycles: int = param(
        56,
        "cycles from a response's arrival to its data being ready to return",
        "assumed: its share of the 204 cycles of a load that hits L2",
        ge=1,
        le=500,
    )
    mshrs: int = param(
        128,
        "lines that may be missing at a time",
        "assumed: covers the L2 latency at a CU's share of the L2 bandwidth, 16 lines a cycle over 36 CUs",
        ge=1,
        le=MAX_MSHRS,
    )
    mshr_targets: int = param(512, "line requests that may wait for missing lines", "assumed", ge=1, le=MAX_TARGETS)
    queue_instructions: int = param(
        16,
        "vector memory instructions waiting for look-up",
        "assumed: AMD names the FIFOs from SQ to TA, not their depth; MGPUSim R9 Nano: 14 before coalescing (6 stages, "
        "a buffer of 8); gem5 CU tokens: 4 by default, 160 for Vega 20; docs/reference/caches.md",
        ge=1,
        le=MAX_QUEUE,
    )
    return_entries: int = param(
        64, "load instructions between look-up and return", "assumed: hides a miss to L2", ge=1, le=MAX_RETURN
    )
    address_cycles: int = param(
        4,
        "least cycles an instruction occupies look-up: 64 addresses, 16 a cycle; more if its lanes do not lie together",
        "AMD GCN whitepaper (2012)",
        ge=1,
        le=900,
    )
    stores_in_flight: int = param(64, "store packets not yet acknowledged", "assumed", ge=1, le=128)
    write: Write = write_param("through", "AMD GCN whitepaper (2012); LLVM AMDGPU guide, memory model for GFX6 to GFX9")
    write_allocate: bool = write_allocate_param(
        False, "assumed; GCN keeps lines that a store has written whole: AMD GCN whitepaper (2012)"
    )
    full_set: Literal["replace", "wait"] = param(
        "replace",
        "a miss in a set whose ways are all being filled: replace: it takes the way of the line asked for longest ago, "
        "which is then not kept; wait: until one of them is there",
        "Igehy et al. 1998: a texture cache's tags are replaced at look-up, and data waits in a FIFO; "
        "fitted to rocBLAS's R9 Nano figures, docs/results/correlation.md",
    )
    bypass: bool = param(False, "send every load to L2 without looking up L1", "off: as in hardware")

    @model_validator(mode="after")
    def _ways_suit_the_policy(self) -> "L1Spec":
        check_replacement(self.replacement, self.ways)
        return self

    @model_validator(mode="after")
    def _nothing_is_kept_without_look_up(self) -> "L1Spec":
        self.check_bypass()
        return self

    def check_bypass(self) -> None:
        """Raise ValueError where loads pass a cache that keeps what memory does not have."""
        if self.bypass and (self.write, self.write_allocate) != ("through", False):
            raise ValueError(
                f"bypass: loads that pass the cache would not find what write '{self.write}' with write_allocate "
                f"{str(self.write_allocate).lower()} keeps there; allowed are write 'through' and write_allocate false"
            )


QUEUED = State(
    "queued",
    {
        "header": Field((), "memory record header of the instruction, with FLAG_BYPASS and FLAG_INVALIDATE"),
        "token": Field((), "the core's name of it", i32),
        "words": Field((), "where its lines begin in `q_words`", i32),
    },
)

ENTRY = State(
    "entry",
    {
        "at": Field(
            (), "cycle in which the last line is there; once it is known, in which the registers hold the data"
        ),
        "token": Field((), "the core's name of the instruction", i32),
        "open": Field((), "lines still missing; one more until all were looked up", i16),
        "beats": Field((), "cycles on the return path", i16),
    },
)

TARGET = State(
    "target",
    {
        "since": Field((), "cycle of the look-up of a load that waits for a missing line"),
        "entry": Field((), "its return entry", i16),
    },
)

# all that belongs to a CU lies together, what each visit looks at in the first lines of the host's cache
UNIT = State(
    "unit",
    {
        "q_head": Field((), "oldest queued instruction"),
        "q_count": Field((), "queued instructions"),
        "q_position": Field((), "lines of the oldest already looked up"),
        "q_started": Field((), "cycle of its first look-up"),
        "q_entry": Field((), "its return entry"),
        "look_free": Field((), "cycle in which look-up may take the next instruction"),
        "r_head": Field((), "oldest load not yet returned (a running number)"),
        "r_scheduled": Field((), "first load whose return is not scheduled (a running number)"),
        "r_tail": Field((), "one past the youngest load (a running number)"),
        "bus_free": Field((), "cycle in which the return path is free"),
        "order": Field((), "running number of the accesses to the sets"),
        "dirty_lines": Field((), "lines with bytes that L2 does not have"),
        "write_backs_out": Field((), "lines written back that L2 has not acknowledged"),
        "next_dirty": Field((), "slot of this cache from which the search for a dirty line goes on"),
        "stores_out": Field((), "store packets not yet acknowledged"),
        "stalled_since": Field((), "cycle from which look-up waits, -1 if it does not"),
        "done_store": Field((), "token + 1 of a store looked up that asks L2 for nothing, 0: none to be reported"),
        "ahead": Field((), "looking ahead for pages: instructions after the oldest that it has come to"),
        "ahead_position": Field((), "line of that instruction it looks at next"),
        "ahead_page": Field((), "page it has looked at last"),
        "queue": Field((MAX_QUEUE,), "queued instructions", QUEUED.dtype()),
        "missing": Field((), "missing lines", MISSING.dtype()),
        "entry": Field((MAX_RETURN,), "loads between look-up and return", ENTRY.dtype()),
        "target": Field((MAX_TARGETS,), "loads that wait for a missing line", TARGET.dtype()),
        # last, as most of it is hardly ever used
        "q_words": Field(
            (MAX_QUEUE * (NEAR_WORDS + FAR_WORDS),),
            "lines of the queued instructions, with byte masks for stores and atomics",
        ),
    },
)

L1 = State(
    "l1",
    set_fields(MAX_CUS * MAX_L1_LINES)
    | {
        "hit_latency": Field((), "cycles from look-up to data of a hit"),
        "fill_latency": Field((), "cycles from response to data"),
        "queue_limit": Field((), "queued instructions at most"),
        "return_limit": Field((), "loads between look-up and return at most"),
        "return_ring": Field((), "entries of the ring that holds them, a power of two"),
        "address_cycles": Field((), "least look-up cycles an instruction"),
        "store_limit": Field((), "unacknowledged store packets at most"),
        "full_set_waits": Field((), "1: a miss waits while all ways of its set are being filled"),
        "bypass": Field((), "1: all loads go past the cache"),
        "filled_by": Field((MAX_CUS * MAX_SLOTS,), "MSHR that fills the slot, while it does", u32),
        "write": Field((), "write policy, a number of memory/cache/write_policy.py"),
        "allocate": Field((), "1: a store that misses gets a line"),
        "keeps_stores": Field((), "1: stores are looked up; else none of the next fields is used"),
        "held": Field((MAX_CUS * MAX_SLOTS,), "bytes held in a slot that is not being filled"),
        "dirty": Field((MAX_CUS * MAX_SLOTS,), "bytes in a slot that L2 does not have"),
        "dirty_lines": Field((), "slots with such bytes, of all CUs"),
        "released": Field((), "1: the kernel is done, dirty lines are written back"),
        "unit": Field((MAX_CUS,), "the caches of the CUs", UNIT.dtype()),
        "queued": Field((), "queued instructions of all CUs"),
        "since": Field((), "cycle of the first look-up, 0: there was none"),
        **counter_fields(L1_COUNTERS),
    },
)


def configure_l1(m: Machine, spec: L1Spec, cus: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the L1 caches of `cus` CUs in the machine record and empty them.

    Args:
        m: Machine record.
        spec: Configuration of L1.
        cus: Number of CUs.
        seed: Of random replacement.
    """
    l1 = m.l1
    l1.hit_latency, l1.fill_latency = spec.hit_latency_cycles, spec.fill_latency_cycles
    l1.queue_limit, l1.return_limit = spec.queue_instructions, spec.return_entries
    l1.address_cycles, l1.store_limit = spec.address_cycles, spec.stores_in_flight
    l1.bypass = int(spec.bypass)
    l1.full_set_waits = int(spec.full_set == "wait")
    l1.write, l1.allocate = write_number(spec.write), int(spec.write_allocate)
    l1.keeps_stores = int(l1.write == BACK or l1.allocate)
    l1.return_ring = 1 << (spec.return_entries - 1).bit_length()
    units = l1.unit[:cus]
    units["order"] = configure_sets(l1, spec.size_kib * 16 // spec.ways, spec.ways, spec.replacement, seed, cus)
    units["stalled_since"] = -1
    units["q_started"] = -1
    configure_misses(units["missing"], spec.mshrs, spec.mshr_targets)


@jit
def first_slot(m: Machine, cu, line):
    """Return the slot of way 0 of the line's set."""
    l1 = m.l1
    return (cu * l1.sets + (line & (l1.sets - 1))) * l1.stride


@jit
def next_use(m: Machine, cu):
    """Count an access to the cache; returns its running number."""
    l1 = m.l1
    cache = l1.unit[cu]
    rows = address_in(l1.rows, cu * l1.sets * 2 * l1.stride)
    cache.order = next_order(cache.order, rows, l1.sets, l1.stride)
    return cache.order

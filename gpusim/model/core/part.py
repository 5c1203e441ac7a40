"""A machine's parts (`memory.parts`): further records that have some shader arrays while several threads run CUs.

What each unit owns in the parts of the record on the CUs' side is listed here: rows of fields by compute unit, SIMD,
wavefront slot, shader array, crossbar port, L1 TLB or user of one. All else is a counter, of which a part has its own
that begin at 0, or a constant of the launch.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from gpusim.base.jit import Machine, address_of, new_record
from gpusim.model.core.cu.counters import CU_COUNTERS, INSTRUCTION_COUNTERS, RUN_COUNTERS
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import SLOTS
from gpusim.model.core.machine import machine_dtype
from gpusim.model.core.side_by_side import LEAST_APART
from memory.cache.counters import INSTRUCTION_CACHE_COUNTERS, L1_COUNTERS, SCALAR_CACHE_COUNTERS
from memory.cache.l1_state import FAR_WORDS, MAX_QUEUE, NEAR_WORDS
from memory.network.counters import CROSSBAR_COUNTERS
from memory.network.state import MAX_ARRAYS, MAX_CUS
from memory.parts import divide, make_whole
from memory.translation.counters import TRANSLATION_COUNTERS
from memory.unit_classes import CU_ISSUE, CU_LOOK_UP, CU_RESPONSE, CU_RETURN, DISPATCH, FETCH, SCALAR, TRANSLATION
from memory.waiting import CU_SPACE, RESOURCES, TIMED
from memory.wheel import WORD_BITS

_Fields = Mapping[str, tuple[str, ...]]

NEAR = ("cu", "run", "slices", "l1", "scalar", "icache", "translation")
BY_CU: _Fields = {
    "cu": (
        "fetch", "served", "lds_free", "lds_at", "lds_who", "lds_head", "lds_count", "wg_used", "wg_size", "wg_left",
        "wg_arrived", "wg_slot", "wg_resident", "active_since", "stalls",
    ),
    "scalar": ("q_header", "q_who", "q_words", "q_head", "q_count"),
    "slices": ("running", "entered", "bound"),
}  # fmt: skip
BY_SIMD: _Fields = {"cu": ("simd", "matrix_free")}
BY_SLOT: _Fields = {"cu": ("wave", "started", "priority", "grid_at"), "slices": ("number",)}
BY_ARRAY: _Fields = {
    "cu": ("fetching_cus",),
    "scalar": (
        "order", "missing", "target", "e_pending", "e_looked_up", "e_who", "e_next", "e_free", "waiting", "next_cu",
        "q_cu", "q_position", "q_entry", "done", "done_head", "done_count",
    ),
    "icache": ("order", "missing", "target"),
}  # fmt: skip
BY_PORT: _Fields = {"xbar": ("request_credits", "delivered", "delivered_head", "delivered_count")}
BY_TLB: _Fields = {
    "translation": (
        "l1_order", "m_page", "m_sent", "m_ready", "answered", "r_page", "r_seen", "r_head", "r_count",
    )
}  # fmt: skip
BY_USER: _Fields = {"translation": ("last", "wait", "ahead")}
# flat: elements of a CU or an array follow from the configuration
ROWS: _Fields = {"l1": ("rows",), "scalar": ("rows",), "icache": ("rows",)}
SETS: _Fields = {"l1": ("filled_by", "held", "dirty"), "scalar": ("filled_by",)}
SPECIAL: _Fields = {"l1": ("unit", "since", "span_cycles"), "cu": ("lds",), "translation": ("l1_rows", "asking")}
# work areas and what only the main record has
MAIN: _Fields = {
    "slices": (
        "queue", "asked", "made", "busy", "shared", "failed", "lets_run", "spins", "note", "noted", "ordered",
        "workgroup", "place",
    ),
    "run": ("may_have_space", "fault"),
    "translation": ("l2_rows",),
}  # fmt: skip
_SUMS = ("run.waves_left", "l1.queued", "l1.dirty_lines", "scalar.queued", "icache.outstanding")
COUNTERS = (
    *(
        f"{table.state}.{name}"
        for table in (
            RUN_COUNTERS, INSTRUCTION_COUNTERS, CU_COUNTERS, L1_COUNTERS, SCALAR_CACHE_COUNTERS,
            INSTRUCTION_CACHE_COUNTERS, TRANSLATION_COUNTERS, CROSSBAR_COUNTERS,
        )
        for name in dict.fromkeys(counter.state_field for counter in table.counters)
        if (table.state, name) != ("l1", "span_cycles")
    ),
    *_SUMS,
    "cu.lds.bytes_asked_for",
)  # fmt: skip
_L1_HEAD_WORDS = MAX_QUEUE * NEAR_WORDS
_CU_CLASSES, _ARRAY_CLASSES = (CU_RESPONSE, CU_RETURN, CU_LOOK_UP, CU_ISSUE), (SCALAR, FETCH)


def may_be_divided(m: Machine) -> bool:
    """Tell whether a machine may have a part.

    Slices have to be made ahead, and the L2 TLB has to answer after a window; two requests of a cycle fit its ports.
    """
    t, window = m.translation, int(m.xbar.window) // 2
    answers_late = bool(t.ideal) or (t.latency >= window and t.port_limit > 2)
    return bool(m.slices.ahead) and m.scalar.arrays > 1 and window >= LEAST_APART and answers_late


class MachineParts:
    """The further records of a machine, of which some are in use while it is divided."""

    def __init__(self, m: Machine, accesses: np.ndarray) -> None:
        """Begin with a whole machine.

        Args:
            m: The machine.
            accesses: The table into which it counts accesses (`memory.cache.access`).
        """
        self._m, self._accesses = m, accesses
        self._all: list[_MachinePart] = []
        self._used: list[_MachinePart] = []

    def split(self, arrays: Sequence[int]) -> None:
        """Divide the machine. arrays: shader arrays of the main record, then of each part."""
        m = self._m
        self._all += [_MachinePart(m) for _ in range(len(self._all), len(arrays) - 1)]
        self._used = self._all[: len(arrays) - 1]
        first = arrays[0]
        for part, number in zip(self._used, arrays[1:], strict=True):
            part.split(first, first + number, self._accesses)
            first += number
        m.access.noted = m.slices.noted = 0
        m.slices.bound[:] = 0
        records = [m, *(part.record for part in self._used)]
        divide(records, [_address(record) for record in records], arrays, int(m.scalar.cus_per_array))

    def join(self) -> None:
        """Give the machine all arrays again, and add what its parts have counted."""
        make_whole(self._m)
        for part in self._used:
            part.join(self._accesses)


class _MachinePart:
    """A record of a machine beside its main one, and the arrays that it has while it has any."""

    def __init__(self, m: Machine) -> None:
        """Make a part of a machine, without arrays."""
        self._m = m
        self.record: Any = new_record(machine_dtype())
        self._known: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
        self._arrays = (0, 0)
        self._own_accesses = np.zeros(0, np.int64)
        for name in _constants():
            _copy(self.record, m, name)

    def split(self, first: int, end: int, accesses: np.ndarray) -> None:
        """Give the part arrays from one number up to another.

        Args:
            first: The first array.
            end: The one after the last.
            accesses: The table into which the machine counts accesses.
        """
        m, p = self._m, self.record
        self._arrays = (first, end)
        self._own_accesses = np.zeros_like(accesses)
        self._move(m, p)
        for name in COUNTERS:
            _set(p, name, 0)
        for name in ("l1.since", "l1.span_cycles", "cu.lds.until", "cu.lds.span_cycles", "xbar.matched", "run.fault"):
            _copy(p, m, name)
        p.wheel.now, p.wheel.running, p.wheel.active = m.wheel.now, -1, m.wheel.active
        p.access.table = address_of(self._own_accesses)
        p.access.noted = p.slices.noted = 0
        p.slices.shared[0] = p.slices.ahead
        p.run.next_workgroup, p.run.may_have_space[:] = m.run.next_workgroup, 0
        p.xbar.apart = 1
        p.waiting.waiters[CU_SPACE] = 1  # whatever comes free is told
        p.slices.bound[:] = 0

    def join(self, accesses: np.ndarray) -> None:
        """Give the machine the part's arrays again, and add what the part has counted. accesses: as for `split`."""
        m, p = self._m, self.record
        self._move(p, m)
        for name in COUNTERS:
            _set(m, name, attrgetter(name)(m) + attrgetter(name)(p))
        accesses += self._own_accesses
        m.run.fault = m.run.fault or p.run.fault
        _join_spans(m.l1, p.l1)
        _join_lds(m.cu.lds, p.cu.lds)
        m.wheel.active = max(m.wheel.active, p.wheel.active)

    @property
    def _cus(self) -> tuple[int, int]:
        each = int(self._m.scalar.cus_per_array)
        return self._arrays[0] * each, self._arrays[1] * each

    def _move(self, a: Machine, b: Machine) -> None:
        """Move what the part's units own, and when they run, from one record to the other."""
        if self._arrays[0] == self._arrays[1]:
            return
        for of_main, of_part in self._rows():
            if b is self._m:
                of_main[...] = of_part
            else:
                of_part[...] = of_main
        self._copy_l1(a, b)
        self._move_requests(a, b)
        self._move_waiters(a, b)
        self._move_wakes(a, b)

    def _rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the rows of the part's units in either record; they are looked up once for the same arrays."""
        if self._arrays not in self._known:
            self._known[self._arrays] = [
                (_rows_of(self._m, name, first, end), _rows_of(self.record, name, first, end))
                for name, first, end in self._ranges()
            ]
        return self._known[self._arrays]

    def _ranges(self) -> Iterator[tuple[str, int, int]]:
        """Yield fields with the first of the part's rows and the one after the last."""
        (cu, cus), (array, arrays) = self._cus, self._arrays
        for fields, each in ((BY_CU, 1), (BY_SIMD, SIMDS), (BY_SLOT, SLOTS)):
            yield from ((name, cu * each, cus * each) for name in _named(fields))
        yield from ((name, array, arrays) for name in _named(BY_ARRAY))
        tlb = 2 * int(self._m.translation.l1_stride)
        for first, end in ((cu, cus), (MAX_CUS + array, MAX_CUS + arrays)):
            yield from ((name, first, end) for name in _named(BY_PORT, BY_TLB, BY_USER))
            yield "translation.l1_rows", first * tlb, end * tlb
        users = MAX_CUS + MAX_ARRAYS
        yield from ((name, users + array, users + arrays) for name in _named(BY_USER))
        for fields, rows in ((ROWS, 2), (SETS, 1)):
            for name in _named(fields):
                cache = self._m[name.partition(".")[0]]
                each = int(cache["sets"]) * int(cache["stride"]) * rows
                first, end = (cu, cus) if name.startswith("l1.") else (array, arrays)
                yield name, first * each, end * each

    def _copy_l1(self, a: Machine, b: Machine) -> None:
        """Copy the CUs' L1s; of instructions with many lines the words of those that are queued."""
        cu, cus = self._cus
        kind = a.l1.unit.dtype
        head = kind.fields["q_words"][1] + 8 * _L1_HEAD_WORDS
        rows, to = (np.asarray(r.l1.unit[cu:cus]).view(np.uint8).reshape(cus - cu, kind.itemsize) for r in (a, b))
        to[:, :head] = rows[:, :head]
        units = a.l1.unit[cu:cus]
        age = (np.arange(MAX_QUEUE) - units["q_head"][:, np.newaxis]) % MAX_QUEUE
        far = (age < units["q_count"][:, np.newaxis]) & (units["queue"]["words"] >= _L1_HEAD_WORDS)
        for k, q in np.argwhere(far):
            first = int(units["queue"]["words"][k, q])
            b.l1.unit["q_words"][cu + k, first : first + FAR_WORDS] = units["q_words"][k, first : first + FAR_WORDS]

    def _move_requests(self, a: Machine, b: Machine) -> None:
        """Move who asks the L2 TLB."""
        for tlb in (*range(*self._cus), *range(MAX_CUS + self._arrays[0], MAX_CUS + self._arrays[1])):
            word, bit = tlb >> 5, 1 << (tlb & 31)
            if int(a.translation.asking[word]) & bit:
                a.translation.asking[word] &= ~bit
                b.translation.asking[word] |= bit

    def _move_waiters(self, a: Machine, b: Machine) -> None:
        """Move who waits for what the part's units have, and when that was short."""
        for kind in RESOURCES:
            for first, end in _owners(kind.owner, self._cus, self._arrays):
                rows = slice(kind.first + first, kind.first + end)
                b.waiting.waiters[rows] = a.waiting.waiters[rows]
                if kind.first >= TIMED:
                    timed = slice(rows.start - TIMED, rows.stop - TIMED)
                    b.waiting.shortage[timed] = a.waiting.shortage[timed]

    def _move_wakes(self, a: Machine, b: Machine) -> None:
        """Move in which cycles units run."""
        for classes, (first, end) in ((_CU_CLASSES, self._cus), (_ARRAY_CLASSES, self._arrays)):
            for word in range(first // WORD_BITS, -(-end // WORD_BITS)):
                bits = np.uint32(sum(1 << k for k in range(WORD_BITS) if first <= word * WORD_BITS + k < end))
                for number in classes:
                    moved = a.wheel.row[:, number + word] & bits
                    a.wheel.row[:, number + word] &= ~bits
                    b.wheel.row[:, number + word] |= moved
        for number in (TRANSLATION, DISPATCH) if b is self._m else ():
            b.wheel.row[:, number] |= a.wheel.row[:, number]
            a.wheel.row[:, number] = 0


def _owners(owner: str, cus: tuple[int, int], arrays: tuple[int, int]) -> list[tuple[int, int]]:
    """Return which of a kind of owners are the part's."""
    both = [cus, (MAX_CUS + arrays[0], MAX_CUS + arrays[1])]
    return {
        "vector L1": [cus],
        "CU": [cus],
        "SIMD": [(cus[0] * SIMDS, cus[1] * SIMDS)],
        "scalar cache": [arrays],
        "instruction cache": [arrays],
        "port": both,
        "L1 TLB": both,
    }.get(owner, [])


def _named(*tables: _Fields) -> list[str]:
    return [f"{part}.{field}" for table in tables for part, fields in table.items() for field in fields]


def _constants() -> Iterator[str]:
    """Yield the fields that say what the machine and the launch are."""
    apart = {*_named(BY_CU, BY_SIMD, BY_SLOT, BY_ARRAY, BY_PORT, BY_TLB, BY_USER, ROWS, SETS, SPECIAL, MAIN), *COUNTERS}
    layout: Any = machine_dtype().fields
    for part in NEAR:
        yield from (name for field in layout[part][0].names if (name := f"{part}.{field}") not in apart)
    yield from (f"map.{field}" for field in layout["map"][0].names)
    yield from (
        f"xbar.{field}" for field in ("request_latency", "response_latency", "port", "joins", "ideal", "window")
    )


def _set(m: Machine, name: str, value: Any) -> None:
    part, _, field = name.rpartition(".")
    of = attrgetter(part)(m)
    here = getattr(of, field)
    if isinstance(here, np.ndarray):
        here[...] = value
    else:
        setattr(of, field, value)


def _copy(to: Machine, m: Machine, name: str) -> None:
    _set(to, name, attrgetter(name)(m))


def _rows_of(m: Machine, name: str, first: int, end: int) -> np.ndarray:
    """Return rows of a field, those of records as bytes."""
    rows = np.asarray(attrgetter(name)(m))[first:end]
    return rows.view(np.uint8) if rows.dtype.names else rows


def _address(record: Any) -> int:
    return int(np.frombuffer(record, np.uint8).ctypes.data)


def _join_spans(one: Any, other: Any) -> None:
    """Let a span of cycles begin and end where the first and the last of two do."""
    end = max(r.since + r.span_cycles for r in (one, other))
    one.since = min((r.since for r in (one, other) if r.since), default=0)
    one.span_cycles = end - one.since


def _join_lds(one: Any, other: Any) -> None:
    """Do as `_join_spans` for the LDS, whose last cycle is kept and not its first."""
    first = min((r.until - r.span_cycles for r in (one, other) if r.until), default=0)
    one.until = max(one.until, other.until)
    one.span_cycles = one.until - first

"""What memory instructions access, and how many lanes take part: measures of waste for the rules, rows for tables.

A result's JSON object has the counts of each instruction (`access_patterns`, made by gpusim/model/core/patterns.py).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from gpusim.base.formats import COUNT, FIXED_1, PERCENT
from gpusim.base.sums import plain_sum
from gpusim.base.table import MISSING
from gpusim.results.report.result import RunMetrics
from isa.architecture import LANES
from isa.trace import LINE_BYTES as LINE_BYTES

_PLAIN_LDS = (
    "ds_read",
    "ds_write",
    "ds_load",
    "ds_store",
    "ds_permute",
    "ds_bpermute",
    "ds_swizzle",
    "ds_nop",
    "ds_gws",
)
_EXCHANGES = ("ds_permute", "ds_bpermute", "ds_swizzle")
_MANY = 2  # lines for each L2 channel, from which on they could go to all channels alike
Spot = Mapping[str, Any]


def format_location(spot: Mapping[str, Any]) -> str:
    """Return the place of an instruction as in 'gemm.cl line 214', or its address where its line is unknown.

    Code that was inlined from a library's header has both lines: the user's call, and the library's.
    """
    if "line" in spot:
        inlined = f" ({spot['inlined']})" if spot.get("inlined") else ""
        return f"{PurePath(spot['file']).name} line {spot['line']}{inlined}"
    return f"{spot['address']:#07x}"


def patterns(run: RunMetrics, *kinds: str) -> list[Spot]:
    """Return the access patterns of a run, of these kinds alone if any are named.

    Args:
        run: The run.
        kinds: Names of kinds.
    """
    return [spot for spot in run.tree.get("access_patterns") or () if not kinds or spot["kind"] in kinds]


class _Waste(NamedTuple):
    """A waste: of which instructions, what of it is too much of what, in the same unit."""

    kinds: tuple[str, ...]
    wasted: Callable[[RunMetrics, Spot], float]
    whole: Callable[[Spot], float]

    def share(self, run: RunMetrics) -> float | None:
        """Return the share of the run's whole that is wasted; None without any."""
        spots = patterns(run, *self.kinds)
        whole = plain_sum(self.whole(spot) for spot in spots)
        return plain_sum(self.wasted(run, spot) for spot in spots) / whole if whole else None

    def worst(self, run: RunMetrics) -> Spot | None:
        """Return the instruction that wastes most."""
        return max(patterns(run, *self.kinds), key=lambda spot: self.wasted(run, spot), default=None)


def _examined(spot: Spot, name: str) -> float:
    """Return a count of examined executions, scaled to all lines of an instruction."""
    examined = spot.get("examined_lines", 0)
    return spot.get(name, 0) * spot.get("lines", 0) / examined if examined else 0.0


def _repeated_lines(run: RunMetrics, spot: Spot) -> float:
    """Return the lines of an atomic that come again because several lanes change the same word."""
    return _examined(spot, "repeated_lines")


def _excess_lines(run: RunMetrics, spot: Spot) -> float:
    least = max(spot.get("least_lines", 0), spot["issued"] if is_atomic(spot) else 0)
    return float(max(spot.get("lines", 0) - _repeated_lines(run, spot) - least, 0))


def is_atomic(spot: Spot) -> bool:
    """Tell whether an instruction of vector memory or LDS changes words atomically."""
    name = spot["instruction"].partition(" ")[0]
    return "atomic" in name or (name.startswith("ds_") and not name.startswith(_PLAIN_LDS))


def _uses_banks(spot: Spot) -> bool:
    """Tell whether an LDS instruction reads or writes memory: exchanges between lanes use its crossbar alone."""
    return not spot["instruction"].startswith(_EXCHANGES)


def _bank_excess(atomic: bool) -> Callable[[RunMetrics, Spot], float]:
    def excess(run: RunMetrics, spot: Spot) -> float:
        if not _uses_banks(spot) or is_atomic(spot) != atomic:
            return 0.0
        return float(max(spot.get("bank_cycles", 0) - spot.get("least_bank_cycles", 0), 0))

    return excess


def _stored_lines(spot: Spot) -> float:
    return float(spot.get("lines", 0)) if "store" in spot["instruction"] else 0.0


def _channels(run: RunMetrics) -> int:
    return int(run.gpu.get("l2", {}).get("channels", 1))


def _crowded_lines(run: RunMetrics, spot: Spot) -> float:
    """Return the lines by which the L2 channel that gets most exceeds an even share, where lines suffice for all."""
    channels = _channels(run)
    if spot.get("examined_lines", 0) < _MANY * channels * spot.get("examined", 0):
        return 0.0
    lines: float = spot.get("lines", 0)
    return max(_examined(spot, "channel_lines") - _repeated_lines(run, spot) - lines / channels, 0.0)


_VECTOR = ("vector_memory",)
UNCOALESCED = _Waste(_VECTOR, _excess_lines, lambda spot: spot.get("lines", 0))
SET_CONFLICTS = _Waste(_VECTOR, lambda run, spot: _examined(spot, "set_overflow"), lambda spot: spot.get("lines", 0))
CHANNEL_CONFLICTS = _Waste(_VECTOR, _crowded_lines, lambda spot: spot.get("lines", 0))
PARTIAL_LINES = _Waste(
    _VECTOR, lambda run, spot: _examined(spot, "partial_lines") if _stored_lines(spot) else 0.0, _stored_lines
)
CONTENTION = _Waste(_VECTOR, _repeated_lines, lambda spot: spot.get("lines", 0))
BANK_CONFLICTS = _Waste(("lds",), _bank_excess(False), lambda spot: spot.get("bank_cycles", 0) * _uses_banks(spot))
LDS_ATOMICS = _Waste(("lds",), _bank_excess(True), lambda spot: spot.get("bank_cycles", 0) * _uses_banks(spot))
IDLE_LANES = _Waste(
    ("vector_alu",), lambda run, spot: LANES * spot["issued"] - spot["lanes"], lambda spot: LANES * spot["issued"]
)


def _of(spot: Spot, name: str) -> float:
    share: float = spot.get(name, 0) / spot["issued"]
    return share


def _number(value: float) -> str:
    return FIXED_1(value).removesuffix(".0")


def _at(spot: Spot) -> str:
    return f"{format_location(spot)}, {spot['instruction']}"


def stride_bytes(spot: Spot) -> int:
    """Return how many bytes lie between neighbours' lines, where most executions have such a stride; 0 for others."""
    regular = 2 * spot.get("strided", 0) > spot.get("examined", 0)
    return abs(spot.get("stride_lines", 0)) * LINE_BYTES if regular else 0


# what every second word, and runs of neighbours that begin and end within lines, cost at most
_OF_SHORT_RUNS = 2.2
_SPREAD = (
    "let neighbouring work-items access neighbouring words: store the array transposed, swap the loops, or go through"
    " LDS"
)
_SHORT_RUNS = (
    "leave no gaps between neighbours' words (load pairs at once), let rows of the array begin at multiples of 64"
    " bytes, and rows of a workgroup be longer (64 x 4 in place of 16 x 16)"
)


def line_figures(run: RunMetrics) -> Mapping[str, str]:
    """Return the figures of the instruction that touches most lines in vain."""
    spot = UNCOALESCED.worst(run)
    if spot is None:
        return {}
    verb = "store" if _stored_lines(spot) else "atomic" if "atomic" in spot["instruction"] else "load"
    stride, factor = stride_bytes(spot), spot["lines"] / max(spot.get("least_lines", 0), 1)
    return {
        "do": _SPREAD if stride or factor > _OF_SHORT_RUNS else _SHORT_RUNS,
        "each": f"{_number(_of(spot, 'lines'))} lines per {verb}",
        "least": _number(_of(spot, "least_lines")),
        "factor": _number(factor),
        "stride": f", neighbours {COUNT(stride)} bytes apart" if stride else "",
        "at": _at(spot),
    }


def set_figures(run: RunMetrics) -> Mapping[str, str]:
    """Return the figures of the instruction most of whose lines find their L1 set full of its own."""
    spot = SET_CONFLICTS.worst(run)
    if spot is None:
        return {}
    stride = stride_bytes(spot)
    power = " (a power of two)" if stride and stride & (stride - 1) == 0 else ""
    return {"stride": f"a stride of {COUNT(stride)} bytes{power}" if stride else "their addresses", "at": _at(spot)}


def channel_figures(run: RunMetrics) -> Mapping[str, str]:
    """Return the figures of the instruction whose lines crowd in a few L2 channels most."""
    spot = CHANNEL_CONFLICTS.worst(run)
    if spot is None or not spot.get("examined"):
        return {}
    lines, most = (spot.get(name, 0) / spot["examined"] for name in ("examined_lines", "channel_lines"))
    return {"most": _number(most), "lines": _number(lines), "channels": str(_channels(run)), "at": _at(spot)}


def place_figures(waste: _Waste) -> Callable[[RunMetrics], Mapping[str, str]]:
    """Return what gives the figures of the instruction that wastes most."""

    def figures(run: RunMetrics) -> Mapping[str, str]:
        spot = waste.worst(run)
        return {} if spot is None else {"at": _at(spot)}

    return figures


def contention_figures(run: RunMetrics) -> Mapping[str, str]:
    """Return the figures of the atomic whose lanes change the same words most often."""
    spot = CONTENTION.worst(run)
    if spot is None or not spot.get("examined"):
        return {}
    lines, again = (spot.get(name, 0) / spot["examined"] for name in ("examined_lines", "repeated_lines"))
    words = _number(lines - again)
    return {"lanes": _number(lines), "words": "one word" if words == "1" else f"{words} words", "at": _at(spot)}


def bank_figures(waste: _Waste) -> Callable[[RunMetrics], Mapping[str, str]]:
    """Return what gives the figures of the LDS instruction with most bank cycles in vain."""

    def figures(run: RunMetrics) -> Mapping[str, str]:
        spot = waste.worst(run)
        if spot is None:
            return {}
        cycles, least = (_number(_of(spot, name)) for name in ("bank_cycles", "least_bank_cycles"))
        return {"each": f"{cycles} bank cycles where {least} would do", "at": _at(spot)}

    return figures


def lane_figures(run: RunMetrics) -> Mapping[str, str]:
    """Return which lanes are idle, and what to do: work-items diverge, or workgroups leave lanes without any."""
    spots, spot = patterns(run, "vector_alu"), IDLE_LANES.worst(run)
    if spot is None:
        return {}
    issued = plain_sum(one["issued"] for one in spots)
    active = plain_sum(one["lanes"] for one in spots) / issued
    most = max(_of(one, "lanes") for one in spots)
    if LANES - most > most - active:
        return {
            "idle": f"small workgroups: no vector instruction has more than {_number(most)} of {LANES} lanes",
            "do": f"workgroups of a multiple of {LANES} work-items",
        }
    there = f"{_number(_of(spot, 'lanes'))} at {format_location(spot)}"
    return {
        "idle": f"divergence: {_number(active)} of {LANES} lanes are active in a vector instruction, {there}",
        "do": "let work-items of a wavefront take the same way: sort them by their work",
    }


def describe_longest_wait(run: RunMetrics) -> Mapping[str, str]:
    """Return which instruction is waited for most, as the end of a sentence; empty where it is not known."""
    spots = [spot for spot in patterns(run) if spot.get("wait_cycles")]
    whole = plain_sum(spot["wait_cycles"] for spot in spots)
    if not whole:
        return {"for": ""}
    spot = max(spots, key=lambda one: one["wait_cycles"])
    return {"for": f", {PERCENT(spot['wait_cycles'] / whole)} of it for {_at(spot)}"}


class AccessRow(NamedTuple):
    """An instruction's accesses as text, column by column (HEADS)."""

    cells: tuple[str, ...]
    """Texts by column (HEADS)."""
    spot: Spot
    """The instruction's counts."""


HEADS = (
    "instruction", "executed", "lines each", "least", "useful bytes", "lanes", "hits L1, L2", "DRAM rows", "stride",
    "bank cycles", "waited for",
)  # fmt: skip


def access_rows(run: RunMetrics) -> list[AccessRow]:
    """Return the rows of a run's memory instructions, those that were waited for longest first."""
    spots = [spot for spot in patterns(run) if spot["kind"] != "vector_alu"]
    waited = plain_sum(spot.get("wait_cycles", 0) for spot in spots)
    spots.sort(key=lambda spot: (-spot.get("wait_cycles", 0), -spot.get("lines", 0)))
    return [AccessRow(tuple(_cells(spot, waited)), spot) for spot in spots]


def _cells(spot: Spot, waited: float) -> Iterator[str]:
    lines, least = spot.get("lines", 0), spot.get("least_lines", 0)
    examined = spot.get("examined", 0)
    stride = stride_bytes(spot)
    yield spot["instruction"]
    yield COUNT(spot["issued"])
    yield _number(_of(spot, "lines")) if lines else MISSING
    yield _number(_of(spot, "least_lines")) if least else MISSING
    yield PERCENT(useful_share(spot)) if lines and least else MISSING
    yield _number(_of(spot, "lanes")) if "lanes" in spot else MISSING
    yield f"{_hit_rate(spot, 'l1')}, {_hit_rate(spot, 'l2')}"
    yield _number(spot.get("dram_rows", 0) / examined) if examined else MISSING
    yield f"{COUNT(stride)} bytes" if stride else MISSING
    yield (
        f"{_number(_of(spot, 'bank_cycles'))} ({_number(_of(spot, 'least_bank_cycles'))})"
        if spot.get("bank_cycles") and _uses_banks(spot)
        else MISSING
    )
    yield PERCENT(spot.get("wait_cycles", 0) / waited) if waited else MISSING


def useful_share(spot: Spot) -> float:
    """Return the bytes asked for / those of the lines touched, at most 1 (where lanes ask for the same bytes)."""
    return float(min(spot.get("bytes_asked_for", 0) / (spot["lines"] * LINE_BYTES), 1.0))


def _hit_rate(spot: Spot, cache: str) -> str:
    counts = [spot.get(f"{cache}_{what}", 0) for what in ("hits", "merges", "misses")]
    return PERCENT(counts[0] / sum(counts)) if any(counts) else MISSING


def has_content(cell: str) -> bool:
    """Tell whether a cell of a row says anything."""
    return cell.strip(f"{MISSING}, ") != ""


class LineRow(NamedTuple):
    """A source line: executions and idle lanes of its vector arithmetic, lines it touches and could do with, waits."""

    file: str
    """Source file."""
    line: int
    """Line, from 1."""
    vector_instructions: int
    """Vector instructions executed."""
    active_lanes: float | None
    """Mean of active lanes; None: no vector instruction."""
    lines: int
    """Cache lines touched."""
    least_lines: int
    """Cache lines that would do."""
    bank_conflict_cycles: int
    """Cycles of LDS bank conflicts."""
    wait_cycles: int
    """Wavefront-cycles that wait for it."""


def line_rows(run: RunMetrics) -> list[LineRow]:
    """Return the source lines of a run's access patterns with their counts, by file and line."""
    held: dict[tuple[str, int], list[Spot]] = {}
    for spot in patterns(run):
        if "line" in spot:
            held.setdefault((spot["file"], spot["line"]), []).append(spot)
    return [_line_row(*place, spots) for place, spots in sorted(held.items())]


def _line_row(file: str, line: int, spots: Sequence[Spot]) -> LineRow:
    vector = [spot for spot in spots if spot["kind"] == "vector_alu"]
    issued = plain_sum(spot["issued"] for spot in vector)
    lanes = plain_sum(spot["lanes"] for spot in vector)
    of_vector = [spot for spot in spots if spot["kind"] == "vector_memory"]
    lines, least = (plain_sum(spot.get(name, 0) for spot in of_vector) for name in ("lines", "least_lines"))
    conflicts = plain_sum(
        spot.get("bank_cycles", 0) - spot.get("least_bank_cycles", 0) for spot in spots if _uses_banks(spot)
    )
    waits = plain_sum(spot.get("wait_cycles", 0) for spot in spots)
    return LineRow(
        file=file,
        line=line,
        vector_instructions=issued,
        active_lanes=lanes / issued if issued else None,
        lines=lines,
        least_lines=least,
        bank_conflict_cycles=conflicts,
        wait_cycles=waits,
    )

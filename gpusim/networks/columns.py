"""The columns of a network's table: each figure once, in two ways of writing it, for wide and for narrow terminals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.core.facts import RunFacts
from gpusim.networks.rows import Row, bound_of, largest_stalls

# in full and abbreviated
PASSES = {
    "forward": ("forward", "fwd"), "loss": ("loss", "loss"), "loss_gradient": ("loss gradient", "dloss"),
    "backward_data": ("back data", "bwd d"), "backward_weights": ("back weights", "bwd w"),
    "backward_bias": ("back bias", "bwd b"), "backward": ("backward", "bwd"),
    "gradient_sum": ("gradient sum", "sum"), "update": ("update", "upd"),
}  # fmt: skip
REASONS = {
    "execution_dependency": ("exec", "exe"), "memory_dependency": ("memory", "mem"),
    "memory_throttle": ("throttle", "thr"), "synchronization": ("barrier", "bar"),
    "instruction_fetch": ("fetch", "fet"), "branch_latency": ("branch", "bra"),
    "not_selected": ("not selected", "sel"), "idle": ("idle", "idl"),
}  # fmt: skip
LEGEND = (
    "fwd forward, bwd backward of d data, w weights, b bias, upd update; run: launches, of them simulated; stalls:"
    " mem memory, thr memory throttle, exe execution, bar barrier, fet fetch, bra branch, sel not selected, idl idle"
)


@dataclass(frozen=True)
class Column:
    """A figure of a row. head: in full, abbreviated; write: the figure's text, the same two; text: aligned left.

    figure: from the row and the facts of all rows; None where there is none. timed: only rows whose launches' facts
    are all known have it, and `figure` is asked of no others; unknown: stands there then.
    """

    head: tuple[str, str]
    figure: Callable[[Row, RunFacts], Any]
    write: tuple[Callable[[Any], str], Callable[[Any], str]]
    text: bool = False
    timed: bool = True
    unknown: str = ""

    def cell(self, row: Row, whole: RunFacts | None, narrow: bool) -> str:
        """The row's text."""
        if self.timed and (row.facts is None or whole is None):
            return self.unknown
        figure = self.figure(row, whole)  # type: ignore[arg-type]  # not looked at where it is not timed
        return "" if figure is None else self.write[narrow](figure)


def _facts(row: Row) -> RunFacts:
    assert row.facts is not None
    return row.facts


def _share(row: Row, whole: RunFacts) -> float | None:
    return _facts(row).cycles / whole.cycles if whole.cycles else None


def _verified(row: Row, _: RunFacts) -> str:
    return {None: "–", True: "yes", False: "WRONG"}[row.passed]


def three_digits(value: float) -> str:
    """At least three digits of it."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}"


def _time(facts: RunFacts) -> tuple[float, float | None]:
    """In microseconds, with its half-width relative to it where it is an estimate."""
    sampling = facts.sampling
    if sampling is None or not facts.cycles or not (width := sampling.half_width("kernel", "cycles")):
        return facts.time_us, None
    return facts.time_us, width / facts.cycles


def _time_text(number: Callable[[float], str]) -> Callable[[Any], str]:
    def write(time: tuple[float, float | None]) -> str:
        return number(time[0]) if time[1] is None else f"{number(time[0])} ± {100 * time[1]:.2g}%"

    return write


def _stalls(narrow: bool) -> Callable[[Any], str]:
    unit, between = ("", " ") if narrow else ("%", ", ")
    return lambda stalls: between.join(f"{REASONS[reason][narrow]} {100 * share:.0f}{unit}" for reason, share in stalls)


def _launches(between: str, after: str) -> Callable[[Any], str]:
    return lambda counts: f"{counts[0]}" if counts[0] == counts[1] else f"{counts[0]}{between}{counts[1]}{after}"


_plain = (str, str)
_percent = (lambda share: f"{100 * share:.0f}%", lambda share: f"{100 * share:.0f}")
_bound = (lambda one: f"{one[0]} {100 * one[1]:.0f}%", lambda one: f"{one[0]} {100 * one[1]:.0f}")

COLUMNS = (
    Column(("layer", "layer"), lambda row, _: row.layer, _plain, text=True, timed=False),
    Column(
        ("pass", "pass"),
        lambda row, _: row.what,
        (lambda what: PASSES[what][0], lambda what: PASSES[what][1]),
        text=True,
        timed=False,
    ),
    Column(
        ("time us", "us"),
        lambda row, _: _time(_facts(row)),
        (_time_text("{:,.1f}".format), _time_text(three_digits)),
        unknown="–",
    ),
    Column(("share", "%"), _share, (lambda share: f"{100 * share:.1f}%", _percent[1])),
    Column(("IPC", "IPC"), lambda row, _: row.metrics["kernel"]["ipc"], ("{:.1f}".format, "{:.1f}".format)),
    Column(("bound", "bound %"), lambda row, _: bound_of(_facts(row)), _bound, text=True),
    Column(
        ("stalls", "stalls %"), lambda row, _: largest_stalls(_facts(row)), (_stalls(False), _stalls(True)), text=True
    ),
    Column(("L1", "L1%"), lambda row, _: row.metrics["l1"]["hit_rate"], _percent),
    Column(("L2", "L2%"), lambda row, _: row.metrics["l2"]["hit_rate"], _percent),
    Column(("DRAM MB", "MB"), lambda row, _: row.metrics["dram"]["bytes"] / 1e6, ("{:,.1f}".format, three_digits)),
    Column(
        ("launches", "run"),
        lambda row, _: (row.launches, row.simulated),
        (_launches(" (", ")"), _launches(",", "")),
        timed=False,
    ),
    Column(("verified", "ok"), _verified, (str, lambda word: {"WRONG": "NO"}.get(word, word)), timed=False),
)


def heads(narrow: bool = False) -> list[str]:
    """The names of the columns."""
    return [column.head[narrow] for column in COLUMNS]


def cells(row: Row, whole: RunFacts | None, narrow: bool = False) -> list[str]:
    """The texts of a row; whole: the facts of all rows, None where no row's are known."""
    return [column.cell(row, whole, narrow) for column in COLUMNS]

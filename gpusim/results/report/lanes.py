"""Lanes of a timeline of launches: a network's passes and layers, then each stream's kernels and copies.

Trace files and pages draw the same lanes. A result's JSON object has the commands as columns, from which they are made
again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from gpusim.base.formats import COUNT
from gpusim.results.records.record import CommandTimes
from gpusim.results.report.words import BACKWARD, PHASES
from isa.object.names import short

PASSES, LAYERS, KERNEL, COPY = "passes", "layers", "kernel", "copy"
_TEXTS = ("name", "place", "direction")
_NUMBERS = ("stream", "number", "copied_bytes")
_TIMES = ("launched", "started", "ended")


class LaneSpan(NamedTuple):
    """What a lane shows from one time to another."""

    name: str
    """Name for people."""
    begin_us: float
    """Begin in microseconds of the host's clock."""
    end_us: float
    """End in microseconds."""
    launches: int = 1
    """Number of launches or copies."""
    command: CommandTimes | None = None
    """The launch or copy; None: several."""


@dataclass
class TimelineLane:
    """Spans of a kind that follow one another."""

    title: str
    """Title."""
    kind: str
    """PASSES, LAYERS, KERNEL or COPY."""
    spans: list[LaneSpan] = field(default_factory=list)
    """Spans in the order of their begins."""


def build_lanes(times: Sequence[CommandTimes]) -> list[TimelineLane]:
    """Return the lanes of a run's commands in the order in which they stand below command another.

    A kernel that was executed without the timing model took no time and has no span.
    """
    timed = sorted(
        (command for command in times if command.ended_us > command.started_us), key=attrgetter("started_us")
    )
    lanes = []
    if any(_pass_of(command) in (*PHASES, "backward_data") for command in timed):
        groups: Sequence[tuple[str, Callable[[CommandTimes], str]]] = (
            (PASSES, _phase_of),
            (LAYERS, attrgetter("place")),
        )
        lanes = [TimelineLane(kind, kind, list(_spans(timed, key))) for kind, key in groups]
    several = len({command.place for command in timed if _of_process(command)}) > 1
    keyed: dict[tuple[str, int, bool, str], TimelineLane] = {}
    for command in timed:
        place = command.place if _of_process(command) else ""
        key = place, command.stream, bool(command.copied_bytes), command.direction
        if key not in keyed:
            what = f"copies {command.direction}".rstrip() if command.copied_bytes else "kernels"
            title = f"{place if several else ''} stream {command.stream}: {what}".strip()
            keyed[key] = TimelineLane(title, COPY if command.copied_bytes else KERNEL)
        keyed[key].spans.append(LaneSpan(short(command.name), command.started_us, command.ended_us, 1, command))
    return [*lanes, *(keyed[key] for key in sorted(keyed))]


def command_columns(times: Sequence[CommandTimes]) -> dict[str, Any]:
    """Return the timed commands as columns of plain data: times in nanoseconds, texts as places in `texts`.

    The only process of a program is left out: its number differs from run to run.
    """
    timed = sorted(
        (command for command in times if command.ended_us > command.started_us), key=attrgetter("started_us")
    )
    if len({command.place for command in timed if _of_process(command)}) == 1:
        timed = [replace(command, place="") if _of_process(command) else command for command in timed]
    plain = [asdict(command) for command in timed]
    texts = {text: number for number, text in enumerate(dict.fromkeys(row[key] for row in plain for key in _TEXTS))}
    return {
        "texts": list(texts),
        **{key: [texts[row[key]] for row in plain] for key in _TEXTS},
        **{key: [row[key] for row in plain] for key in _NUMBERS},
        **{f"{key}_ns": [round(row[f"{key}_us"] * 1000) for row in plain] for key in _TIMES},
    }


def read_commands(columns: Mapping[str, Any]) -> list[CommandTimes]:
    """Return the commands of `command_columns`."""
    texts = columns["texts"]
    fields = {key: [texts[number] for number in columns[key]] for key in _TEXTS}
    fields |= {key: columns[key] for key in _NUMBERS}
    fields |= {f"{key}_us": [ns / 1000 for ns in columns[f"{key}_ns"]] for key in _TIMES}
    return [CommandTimes(**dict(zip(fields, row, strict=True))) for row in zip(*fields.values(), strict=True)]


def merge_spans(spans: Sequence[LaneSpan], least_us: float) -> Iterator[LaneSpan]:
    """Yield the spans, those as one that are nearer to one another than `least_us` and together no longer.

    Args:
        spans: Spans of a lane, in order.
        least_us: Gap in microseconds.
    """
    merged: LaneSpan | None = None
    for span in spans:
        if merged is not None and span.end_us - merged.begin_us <= least_us:
            name = span.name if span.name == merged.name else f"{COUNT(merged.launches + span.launches)} launches"
            merged = LaneSpan(name, merged.begin_us, span.end_us, merged.launches + span.launches)
            continue
        if merged is not None:
            yield merged
        merged = span
    if merged is not None:
        yield merged


def _spans(times: Sequence[CommandTimes], key: Callable[[CommandTimes], str]) -> Iterator[LaneSpan]:
    """Yield the commands that follow one another and have the same key, as one span from the first one's turn."""
    for name, group in groupby(times, key):
        same = list(group)
        if name:
            yield LaneSpan(name, same[0].launched_us, same[-1].ended_us, len(same))


def _of_process(one: CommandTimes) -> bool:
    return one.place.startswith("process ")


def _pass_of(one: CommandTimes) -> str:
    return one.place.rpartition(" ")[2]


def _phase_of(one: CommandTimes) -> str:
    return PHASES.get(_pass_of(one), BACKWARD)

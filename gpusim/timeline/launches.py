"""A timeline of launches: kernels, copies, streams, and a network's layers and passes, of a whole run.

A microsecond of the host's clock is one of the trace; a launch is a slice, so that a whole iteration is small enough to
open.
"""

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from gpusim.base.files import write_whole
from gpusim.results.record import CommandTimes
from gpusim.timeline.trace_file import TraceFile
from isa.object.names import short

_PHASES = {"forward": "forward", "loss": "forward", "update": "update"}  # by pass; any other is in "backward"
_BACKWARD = "backward"


def write_launches(path: Path, variants: Mapping[str, Sequence[CommandTimes]]) -> list[str]:
    """Write the trace of a run's commands by variant, compressed if the file's name ends in .gz; returns a summary.

    Raises UserError where the file cannot be written. A run without commands writes no file.
    """
    if not any(variants.values()):
        return []
    out = TraceFile()
    for name, times in variants.items():
        _draw(out, out.track(name or "run"), times)
    content = out.take()
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return [
        f"{path}: timeline of {sum(map(len, variants.values())):,} launches and copies, {path.stat().st_size:,} bytes;"
        " open it at https://ui.perfetto.dev"
    ]


def _draw(out: TraceFile, root: int, times: Sequence[CommandTimes]) -> None:
    """Draw one variant: its phases and layers, then a track of kernels and one of copies for each stream."""
    in_order = sorted(times, key=lambda one: one.started_us)
    if any(_pass_of(one) in (*_PHASES, "backward_data") for one in in_order):
        groups: Sequence[tuple[str, Callable[[CommandTimes], str]]] = (
            ("passes", _phase_of),
            ("layers", attrgetter("place")),
        )
        for rank, (title, key) in enumerate(groups):
            track = out.track(title, root, rank)
            for name, begin_us, end_us, count in _spans(in_order, key):
                out.slice(track, begin_us, end_us, name, title, {"launches": count})
    numbers: dict[tuple[str, int], int] = {}
    processes = {one.place for one in in_order if one.place.startswith("process ")}
    tracks: dict[tuple[int, bool], int] = {}
    for one in in_order:
        place = one.place if len(processes) > 1 else ""
        number = numbers.setdefault((place, one.stream), len(numbers))
        copies = bool(one.copied_bytes)
        if (number, copies) not in tracks:
            title = f"{place} stream {number}: {'copies' if copies else 'kernels'}".strip()
            tracks[number, copies] = out.track(title, root, 2 + 2 * number + copies)
        notes: dict[str, int | str] = {"turn, ns": int(one.launched_us * 1000)}
        notes |= {"bytes": one.copied_bytes} if copies else {"kernel": one.name}
        category = "copy" if copies else "kernel"
        out.slice(tracks[number, copies], one.started_us, one.ended_us, short(one.name), category, notes)


def _spans(
    times: Sequence[CommandTimes], key: Callable[[CommandTimes], str]
) -> Iterator[tuple[str, float, float, int]]:
    """Yield name, begin, end and number of the commands that follow one another and have the same key."""
    for name, group in groupby(times, key):
        held = list(group)
        if name:
            yield name, held[0].launched_us, held[-1].ended_us, len(held)


def _pass_of(one: CommandTimes) -> str:
    return one.place.rpartition(" ")[2]


def _phase_of(one: CommandTimes) -> str:
    return _PHASES.get(_pass_of(one), _BACKWARD)

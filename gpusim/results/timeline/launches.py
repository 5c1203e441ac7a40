"""A timeline of launches: kernels, copies, streams, and a network's layers and passes, of a whole run.

A microsecond of the host's clock is one of the trace; a launch is a slice, so that a whole iteration is small enough to
open.
"""

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from gpusim.base.files import write_whole
from gpusim.base.formats import COUNT
from gpusim.results.records.record import CommandTimes
from gpusim.results.report.words import BACKWARD, PHASES
from gpusim.results.timeline.trace_file import TraceFile
from isa.object.names import short


def write_launches(path: Path, variants: Mapping[str, Sequence[CommandTimes]]) -> list[str]:
    """Write the trace of a run's commands.

    Args:
        path: the file; compressed if its name ends in .gz.
        variants: commands by variant. A kernel that was executed without the timing model took no time and has no
            slice.

    Returns:
        A summary. Of a run without timed commands nothing is written, which it says.

    Raises:
        UserError: the file cannot be written.
    """
    drawn = {name: [one for one in times if one.ended_us > one.started_us] for name, times in variants.items()}
    if not any(drawn.values()):
        return [f"{path}: not written: no launch or copy of the run was timed"]
    out = TraceFile()
    for name, times in drawn.items():
        _draw(out, out.track(name or "run"), times)
    content = out.take()
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return [
        f"{path}: timeline of {COUNT(sum(map(len, drawn.values())))} launches and copies,"
        f" {COUNT(path.stat().st_size)} bytes; open it at https://ui.perfetto.dev"
    ]


def _draw(out: TraceFile, root: int, times: Sequence[CommandTimes]) -> None:
    """Draw one variant: its phases and layers, then a track of kernels and one of copies for each stream."""
    in_order = sorted(times, key=lambda timed: timed.started_us)
    if any(_pass_of(timed) in (*PHASES, "backward_data") for timed in in_order):
        groups: Sequence[tuple[str, Callable[[CommandTimes], str]]] = (
            ("passes", _phase_of),
            ("layers", attrgetter("place")),
        )
        for rank, (title, place_of) in enumerate(groups):
            track = out.track(title, root, rank)
            for name, begin_us, end_us, count in _spans(in_order, place_of):
                out.slice(track, begin_us, end_us, name, title, {"launches": count})
    processes = {timed.place for timed in in_order if timed.place.startswith("process ")}
    whose = [timed if timed.place in processes else replace(timed, place="") for timed in in_order]
    ranks = {key: rank for rank, key in enumerate(sorted({(timed.place, timed.stream) for timed in whose}))}
    tracks: dict[tuple[str, int, bool], int] = {}
    for timed in whose:
        copies = bool(timed.copied_bytes)
        key = (timed.place, timed.stream, copies)
        if key not in tracks:
            place = timed.place if len(processes) > 1 else ""
            title = f"{place} stream {timed.stream}: {'copies' if copies else 'kernels'}".strip()
            tracks[key] = out.track(title, root, 2 + 2 * ranks[key[:2]] + copies)
        notes: dict[str, int | str] = {"turn, ns": int(timed.launched_us * 1000)}
        notes |= {"bytes": timed.copied_bytes} if copies else {"launch": timed.number, "kernel": timed.name}
        category = "copy" if copies else "kernel"
        out.slice(tracks[key], timed.started_us, timed.ended_us, short(timed.name), category, notes)


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
    return PHASES.get(_pass_of(one), BACKWARD)

"""A timeline of launches: kernels, copies, streams, and a network's layers and passes, of a whole run.

A microsecond of the host's clock is one of the trace; a launch is a slice, so that a whole iteration is small enough to
open.
"""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpusim.base.files import write_whole
from gpusim.base.formats import COUNT
from gpusim.results.records.record import CommandTimes
from gpusim.results.report.lanes import TimelineLane, build_lanes
from gpusim.results.timeline.trace_file import TraceFile


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
    drawn = {name: build_lanes(times) for name, times in variants.items()}
    if not any(drawn.values()):
        return [f"{path}: not written: no launch or copy of the run was timed"]
    out = TraceFile()
    for name, lanes in drawn.items():
        _draw(out, out.track(name or "run"), lanes)
    content = out.take()
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    count = sum(span.command is not None for lanes in drawn.values() for lane in lanes for span in lane.spans)
    return [
        f"{path}: timeline of {COUNT(count)} launches and copies,"
        f" {COUNT(path.stat().st_size)} bytes; open it at https://ui.perfetto.dev"
    ]


def _draw(out: TraceFile, root: int, lanes: Sequence[TimelineLane]) -> None:
    """Draw one variant: a track for each lane, below one another."""
    for rank, lane in enumerate(lanes):
        track = out.track(lane.title, root, rank)
        for span in lane.spans:
            notes: dict[str, int | str] = {"launches": span.launches}
            if span.command is not None:
                copied = span.command.copied_bytes
                notes = {"turn, ns": int(span.command.launched_us * 1000)}
                notes |= {"bytes": copied} if copied else {"launch": span.command.number, "kernel": span.command.name}
            out.slice(track, span.begin_us, span.end_us, span.name, lane.kind, notes)

"""A timeline of spans that others measured or simulated: a track for each name, slices side by side if need be."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gpusim.base.files import write_whole
from gpusim.base.formats import COUNT
from gpusim.results.timeline.trace_file import TraceFile, TrackGroup


class TraceSlice(NamedTuple):
    """A slice of a track below a group. times: microseconds, which the trace has too."""

    group: str
    """Name of the group."""
    track: str
    """Name of the track."""
    name: str
    """Name of the slice."""
    begin_us: float
    """Begin in microseconds."""
    end_us: float
    """End in microseconds."""
    notes: dict[str, int | str]
    """Further values by name."""


def write_spans(path: Path, slices: Iterable[TraceSlice]) -> str:
    """Write a trace for ui.perfetto.dev.

    Args:
        path: the file; compressed if its name ends in .gz.
        slices: groups and tracks are in the order of their first slices.

    Returns:
        A line that says what was written.

    Raises:
        UserError: the file cannot be written.
    """
    out = TraceFile()
    groups: dict[str, int] = {}
    lanes: dict[tuple[str, str], TrackGroup] = {}
    count = 0
    spans = list(slices)
    for span in spans:  # the tracks first, in the order in which they were given
        if span.group not in groups:
            groups[span.group] = out.track(span.group, rank=len(groups))
        if (span.group, span.track) not in lanes:
            lanes[span.group, span.track] = TrackGroup(out, span.track, groups[span.group], len(lanes))
    for span in sorted(spans, key=lambda span: (span.begin_us, span.end_us)):
        if span.end_us <= span.begin_us:
            continue
        # the trace counts nanoseconds: what ends there is free there
        begin, end = round(span.begin_us * 1e3), round(span.end_us * 1e3)
        track = lanes[span.group, span.track].take(begin, end)
        out.slice(track, begin / 1e3, end / 1e3, span.name, span.track, span.notes)
        count += 1
    content = out.take()
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return f"{path}: timeline of {COUNT(count)} slices, {COUNT(path.stat().st_size)} bytes; open it at https://ui.perfetto.dev"

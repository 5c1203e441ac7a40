"""The timeline's parts that need no machine: windows, tracks, the file itself."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.base.files import AtomicFile
from gpusim.base.progress import Reporter
from gpusim.cli.outcome import TimelineChoices, drawing, resolve_window
from gpusim.results.timeline.trace_file import PACKETS, TraceFile, TrackGroup
from gpusim.results.timeline.window import FOREVER, TimelineWindow, parse_window
from tests.support.daily import given_daily
from tests.support.trace_reader import read_trace


@given(st.none() | st.integers(0, FOREVER), st.none() | st.integers(0, FOREVER))
def test_a_window_is_read_as_it_is_written(begin: int | None, end: int | None) -> None:
    text = f"{'' if begin is None else begin}:{'' if end is None else end}"
    wanted = TimelineWindow(begin or 0, FOREVER if end is None else end)
    if wanted.begin < wanted.end:
        assert parse_window(text) == wanted
    else:
        with pytest.raises(UserError, match="is empty"):
            parse_window(text)


@pytest.mark.parametrize(
    "text", ["", "7", "a:b", "-1:5", "1:-5", "1:2:3", "1.5:2", "0x10:0x20", "1_0:20", "٣:٤", ":" * 99]
)
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"^--window .*is no window: it is written first:end"):
        parse_window(text)


def test_a_window_beyond_every_launch_is_refused() -> None:
    with pytest.raises(UserError, match="beyond"):
        parse_window(f"{10**30}:")


def test_a_window_needs_a_timeline() -> None:
    with pytest.raises(UserError, match="--timeline FILE names its file"):
        resolve_window(None, "1:2")


@given_daily(30, 100, st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=40))
def test_lanes_never_overlap_and_are_no_more_than_needed(intervals: list[tuple[int, int]]) -> None:
    intervals.sort(key=lambda one: one[0] + one[1])  # requests are drawn when they end
    lanes = TrackGroup(TraceFile(), "lane", 0)
    taken: dict[int, list[tuple[int, int]]] = {}
    for begin, cycles in intervals:
        taken.setdefault(lanes.take(begin, begin + cycles), []).append((begin, begin + cycles))
    for held in taken.values():
        held.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(held))
    most = max((sum(b <= t < b + n for b, n in intervals) for t in range(71)), default=0)
    assert len(taken) <= most


def test_what_is_written_is_read(tmp_path: Path) -> None:
    out = TraceFile()
    root = out.track("machine")
    lane, count = out.track("lane", root, 2), out.track("wavefronts", root, 1, unit="wavefronts")
    out.begin(lane, 3, "outer", "wave", {"at": "0x10 s_nop 0", "slot": 7})
    out.slice(lane, 3, 5, "inner", "issued", {"at": "0x10 s_nop 0"})
    out.slice(lane, Fraction(16, 3), 6, "inner", "issued")
    out.end(lane, 6)
    out.value(count, 4, 2.5)
    path = tmp_path / "t.pftrace"
    path.write_bytes(out.take() + out.take())
    trace = read_trace(path)
    first, second, outer = trace.slices
    assert (outer.track, outer.begin, outer.end, outer.name) == (("machine", "lane"), 3, 6, "outer")
    assert outer.notes == {"at": "0x10 s_nop 0", "slot": 7} and outer.inside == [first, second]
    assert (first.begin, first.end, first.notes) == (3, 5, {"at": "0x10 s_nop 0"})
    assert (second.begin, second.category, second.notes) == (5.333, "issued", {})
    assert trace.counters == {("machine", "wavefronts"): [(4, 2.5)]}


def test_a_long_trace_is_collected_in_parts(tmp_path: Path) -> None:
    out = TraceFile()
    track = out.track("lane")
    for cycle in range(2 * PACKETS):
        out.slice(track, cycle, cycle + 1, f"name {cycle % 3}", "x")
    path = tmp_path / "t.pftrace"
    path.write_bytes(out.take())
    assert [s.begin for s in read_trace(path).slices] == list(range(2 * PACKETS)) and out.slices == 2 * PACKETS


def test_a_file_takes_its_place_when_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"before")
    file = AtomicFile(path)
    file.stream.write(b"after")
    assert path.read_bytes() == b"before"
    file.discard()
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]
    file = AtomicFile(path)
    file.stream.write(b"after")
    assert file.keep() == 5 and path.read_bytes() == b"after" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", "missing/t", "file/t"])
def test_a_file_that_cannot_be_written_is_told_of_at_once(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written"):
        AtomicFile(tmp_path / name)


def test_without_a_launch_no_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"before")
    with pytest.raises(UserError, match="something else"), drawing(path, TimelineChoices(), Reporter(quiet=True)):
        raise UserError("something else")
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]

"""Is a timeline of launches what the record's commands say: by stream, in layers and passes, and small?"""

import gzip
from collections import namedtuple
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.jobs.host.queue import StreamQueue
from gpusim.jobs.networks.job import fill
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results.records.record import CommandTimes, RunRecord
from gpusim.results.report.lanes import build_lanes, command_columns, merge_spans, read_commands
from gpusim.results.timeline.launches import write_launches
from tests.support.trace_reader import ReadTrace, read_trace
from workloads.networks.kind import Pass

LAUNCH_US = 5.0
Class = namedtuple("Class", "kernel")
NS = 1e-3  # of a trace's times


def drawn(path: Path, **variants: list[CommandTimes]) -> ReadTrace:
    (said,) = write_launches(path, {name.removeprefix("only"): times for name, times in variants.items()})
    count = sum(one.ended_us > one.started_us for times in variants.values() for one in times)
    size = path.stat().st_size
    assert said.startswith(f"{path}: timeline of {count:,} launches and copies, {size:,} bytes; open it at ")
    return read_trace(path)


def one_after_another(*places: tuple[str, int]) -> list[CommandTimes]:
    """Commands of a network: at each place so many launches, of 1 us, 2 us and so on."""
    queue = StreamQueue(LAUNCH_US)
    number = 0
    for place, count in places:
        for _ in range(count):
            number += 1
            queue.kernel(0, float(number), name=f"_Z3sumPKdPd{number}i" if number == 1 else f"k{number}", place=place)
    queue.finish()
    return queue.times


NETWORK = one_after_another(
    ("conv1 forward", 2), ("fc forward", 1), ("softmax loss", 1), ("fc loss_gradient", 1), ("fc backward_data", 2),
    ("conv1 backward_weights", 1), ("conv1 update", 2),
)  # fmt: skip


def outlined(times: list[CommandTimes]) -> list[Any]:
    """The lanes with their spans, in whole nanoseconds."""
    return [
        (lane.title, lane.kind, [(s.name, round(s.begin_us * 1000), round(s.end_us * 1000)) for s in lane.spans])
        for lane in build_lanes(times)
    ]


def near(one: Any, begin: float, end: float) -> bool:
    return bool(one.begin == pytest.approx(begin, abs=NS) and one.end == pytest.approx(end, abs=NS))


def agree(trace: ReadTrace, times: list[CommandTimes], under: str) -> None:
    """Every command has its slice, on a track of its stream, at its times, with its name and notes."""
    slices = sorted(trace.of("kernel", under) + trace.of("copy", under), key=lambda one: (one.begin, one.end, one.name))
    timed = [one for one in times if one.ended_us > one.started_us]
    assert len(slices) == len(timed)
    for one in timed:
        found = [s for s in slices if near(s, one.started_us, one.ended_us)]
        notes = {"turn, ns": int(one.launched_us * 1000)}
        notes |= {"bytes": one.copied_bytes} if one.copied_bytes else {"launch": one.number, "kernel": one.name}
        (same,) = [s for s in found if s.notes == notes and s.category == ("copy" if one.copied_bytes else "kernel")]
        assert same.track[-1].endswith(f": copies {one.direction}" if one.copied_bytes else ": kernels")
    for track in {s.track for s in slices}:
        held = sorted((s for s in slices if s.track == track), key=lambda s: s.begin)
        assert all(a.end <= b.begin for a, b in pairwise(held)), "a stream does one thing at a time"


def test_layers_and_passes_of_a_network_cover_their_launches(tmp_path: Path) -> None:
    trace = drawn(tmp_path / "t.pftrace", only=NETWORK)
    agree(trace, NETWORK, "run")
    assert trace.below() == ["run"]
    assert trace.below("run") == ["passes", "layers", "stream 0: kernels"]
    kernels = trace.of("kernel")
    passes, layers = (sorted(trace.of(name), key=lambda one: one.begin) for name in ("passes", "layers"))
    assert [(one.name, one.notes["launches"]) for one in passes] == [("forward", 4), ("backward", 4), ("update", 2)]
    assert [(one.name, one.notes["launches"]) for one in layers] == [
        ("conv1 forward", 2), ("fc forward", 1), ("softmax loss", 1), ("fc loss_gradient", 1), ("fc backward_data", 2),
        ("conv1 backward_weights", 1), ("conv1 update", 2),
    ]  # fmt: skip
    for around, inside in ((passes, layers), (layers, kernels)):
        for one in inside:
            assert sum(held.begin <= one.begin and one.end <= held.end for held in around) == 1, one
        assert all(a.end <= b.begin for a, b in pairwise(around))
    assert passes[0].begin == 0 and passes[-1].end == pytest.approx(NETWORK[-1].ended_us, abs=NS)
    assert kernels[0].begin == LAUNCH_US, "the launch is part of the layer, not of the kernel"
    assert {one.name for one in kernels} >= {"k2", "k10"} and "sum" in {one.name.partition("(")[0] for one in kernels}


def test_iterations_of_one_run_follow_one_another() -> None:
    """As of DNNMark's benchmarks: each begins when the one before it has ended."""
    facts = RunFacts.of(
        kernel={"name": "k", "cycles": 3000, "clock_ghz": 1.0, "single_flops": 0}, roofline={"valu": 1.0}, stalls={},
        simulator={"cpu_s": 3.0},
    )  # fmt: skip
    step = SimpleNamespace(classes=["class"], simulated=[0], work=[], verification=None)
    row = SimpleNamespace(
        layer="conv", what=Pass.FORWARD, steps=[step, step], operators="gemm", macs=1, needed_macs=1, zeros=None,
        why_dense="", facts=facts, joined=(), why_apart={},
    )  # fmt: skip
    found = SimpleNamespace(
        settings=SimpleNamespace(gpu=GpuSpec(kernel_launch_us=LAUNCH_US)), rows=[row], stopped_by="", planned_bytes=7,
        file=None, of_class={Class("k"): facts}, schedule=SimpleNamespace(network=SimpleNamespace(named={}), apart={}),
    )  # fmt: skip
    step.classes = list(found.of_class)
    record = RunRecord(False, "", [])
    for _ in range(2):
        fill(record, found)  # type: ignore[arg-type]
    assert [(one.launched_us, one.started_us, one.ended_us) for one in record.commands] == [
        (0, 5, 8), (8, 13, 16), (16, 21, 24), (24, 29, 32),
    ]  # fmt: skip
    assert (record.host_time_us, record.launched, len(record.parts)) == (32, 4, 2)
    assert record.values["spent_s"] == 6, "of two equal launches one is simulated, in each iteration"


def test_of_two_variants_each_has_its_track(tmp_path: Path) -> None:
    sparse = one_after_another(("conv1 forward", 1))
    trace = drawn(tmp_path / "t.pftrace", dense=NETWORK, sparse=sparse)
    assert trace.below() == ["dense", "sparse"]
    agree(trace, NETWORK, "dense")
    agree(trace, sparse, "sparse")


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_kernels_and_copies_stand_by_stream(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever a program asks for; times of kernels and copies are whole microseconds, none of another."""
    queue = StreamQueue(LAUNCH_US)
    streams = [0, 0x7F00, 0x7F80]
    for stream in streams[1:]:
        queue.new_stream(stream, data.draw(st.booleans()))
    for number in range(data.draw(st.integers(1, 12))):
        stream = data.draw(st.sampled_from(streams))
        if data.draw(st.booleans()):
            queue.kernel(stream, float(number + 1), {"valu": 0.7}, name=f"k{number}", place="process 12")
        else:
            queue.copy(stream, float(number + 1), data.draw(st.booleans()), False, f"copy {number}", 100 + number)
        if data.draw(st.integers(0, 3)) == 0:
            queue.synchronize()
    queue.finish()
    times = [CommandTimes(**{**vars(one), "place": "process 12"}) for one in queue.times]
    trace = drawn(tmp_path_factory.mktemp("t") / "t.pftrace", only=times)
    agree(trace, times, "run")
    assert not trace.of("passes") and not trace.of("layers"), "a program has none"
    used = {(one.stream, one.direction) for one in times}
    assert len(trace.below("run")) == len(used)
    defaults = [name for name in trace.below("run") if name.startswith("stream 0: ")]
    assert len(defaults) == sum(stream == 0 for stream, _ in used), "0 is the default stream's number"
    again = read_commands(command_columns(times))
    assert outlined(again) == outlined(times), "a result's object has the same lanes"
    assert command_columns(again) == command_columns(times)


def test_streams_of_several_processes_are_told_apart(tmp_path: Path) -> None:
    times = [CommandTimes("k", 0.0, 5.0, 6.0, 0, stream, f"process {number}") for number in (9, 7) for stream in (0, 1)]
    trace = drawn(tmp_path / "t.pftrace", only=times)
    assert trace.below("run") == [
        "process 7 stream 0: kernels", "process 7 stream 1: kernels", "process 9 stream 0: kernels",
        "process 9 stream 1: kernels",
    ]  # fmt: skip


def test_launches_are_numbered_in_the_order_of_the_calls() -> None:
    queue = StreamQueue(LAUNCH_US)
    queue.new_stream(7, blocking=False)
    queue.kernel(0, 100.0, name="long")
    queue.copy(0, 1.0, True, False, "c", 4)
    queue.kernel(7, 1.0, name="short")
    queue.finish()
    assert [(one.name, one.number) for one in queue.times] == [("short", 2), ("long", 1), ("c", 0)]


def test_what_cannot_be_told_apart_is_drawn_as_one() -> None:
    (lane,) = build_lanes([CommandTimes("k", 0.0, float(n), n + 0.5, number=n + 1) for n in range(100)])
    merged = list(merge_spans(lane.spans, 10.0))
    assert [(one.begin_us, one.end_us, one.launches) for one in merged[:2]] == [(0.0, 9.5, 10), (10.0, 19.5, 10)]
    assert sum(one.launches for one in merged) == 100 and {one.name for one in merged} == {"k"}
    assert list(merge_spans(lane.spans, 0.0)) == lane.spans


def test_a_kernel_that_was_not_timed_has_no_slice(tmp_path: Path) -> None:
    times = [CommandTimes("k", 0.0, 5.0, 5.0), CommandTimes("l", 5.0, 10.0, 12.0)]
    assert [one.name for one in drawn(tmp_path / "t.pftrace", only=times).slices] == ["l"]
    for none in (times[:1], []):
        assert "not written: no launch" in write_launches(tmp_path / "none", {"": none})[0]
    assert not (tmp_path / "none").exists()


def test_many_launches_are_a_small_file_that_is_the_same_each_time(tmp_path: Path) -> None:
    many = one_after_another(*((f"layer{n} {what}", 10) for what in ("forward", "backward") for n in range(100)))
    sizes = {}
    for name in ("t.pftrace", "t.pftrace.gz"):
        drawn(tmp_path / name, only=many)
        before = (tmp_path / name).read_bytes()
        write_launches(tmp_path / name, {"": many})
        assert (tmp_path / name).read_bytes() == before
        sizes[name] = len(before)
    assert gzip.decompress((tmp_path / "t.pftrace.gz").read_bytes()) == (tmp_path / "t.pftrace").read_bytes()
    assert sizes["t.pftrace"] < 120 * len(many) and sizes["t.pftrace.gz"] < 32 * len(many)


def test_a_file_that_cannot_be_written_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        write_launches(tmp_path / "missing" / "t", {"": NETWORK})

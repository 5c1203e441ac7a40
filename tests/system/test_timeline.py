"""Timelines of whole launches: what they show agrees with what was counted, and drawing changes nothing."""

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from docs._site import examples
from docs._site.pages import DOCS, section
from gpusim.base.launch_selector import parse_selector
from gpusim.cli.main import invoke
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from gpusim.results.timeline.recording import GROUPS
from gpusim.results.timeline.timeline import Timeline
from gpusim.results.timeline.window import TimelineWindow
from isa.execution.faults import ExecutionFault
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from memory.dram.spec import DramSpec
from spartan.engine_spec import EngineSpec
from tests.support.gemm import random_gemm
from tests.support.trace_reader import ReadTrace, read_trace

GPU = GpuSpec(shader_arrays=2, cus_per_array=2, l2=L2Spec(size_kib=64, ways=4, channels=4), dram=DramSpec(channels=4))
ENGINE = EngineSpec(sib_kib=1, prefetch_buffer_kib=2, outstanding_columns=4)
SMALL_SHAPE = (64, 32, 32)
TURN = 4
QUEUED = 8  # cycles that an answer may wait in a channel's port


@cache
def undrawn(kernel: str, shape: tuple[int, int, int], gpu: str) -> list[Any]:
    """What every launch of a GEMM gives without a timeline; gpu: as JSON."""
    spec = GpuSpec.model_validate_json(gpu)
    engine = ENGINE if "dib" in kernel else None
    return [simulate(launch, spec, engine, checked=True) for launch in random_gemm(kernel, shape, spec).launches]


def draw(
    path: Path,
    kernel: str = "sgemm_wide",
    shape: tuple[int, int, int] = SMALL_SHAPE,
    window: TimelineWindow | None = None,
    gpu: GpuSpec = GPU,
    **options: Any,
) -> tuple[list[Any], ReadTrace, list[str]]:
    """Simulate every launch of a GEMM without and with a timeline; facts, the trace, and its summary."""
    engine = ENGINE if "dib" in kernel else None
    launches = random_gemm(kernel, shape, gpu).launches
    plain = undrawn(kernel, shape, gpu.model_dump_json())
    with Timeline(path, window, **options) as timeline:
        drawn = [simulate(launch, gpu, engine, checked=True, timeline=timeline) for launch in launches]
    for a, b in zip(plain, drawn, strict=True):
        assert comparable(a) == comparable(b), "the timeline changes the result"
    return drawn, read_trace(path), timeline.summary()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the timelines of whole launches lie."""
    return tmp_path_factory.mktemp("whole")


@cache
def draw_whole(folder: Path, kernel: str = "sgemm_wide") -> tuple[list[Any], ReadTrace, list[str]]:
    """What `draw` gives of a kernel's whole launches, drawn once."""
    return draw(folder / f"{kernel}.pftrace", kernel)


def comparable(facts: Any) -> dict[str, Any]:
    return {section: facts[section] for section in facts if section != "simulator"}


@pytest.mark.parametrize("kernel", ["sgemm_wide", "sgemm_4x4", "sgemm_dib_tiled", "software"])
def test_the_timeline_agrees_with_the_counts(kernel: str, folder: Path) -> None:
    every, trace, summary = draw_whole(folder, kernel)
    assert summary[0].startswith(f"{folder}/{kernel}.pftrace: timeline of {len(trace.slices):,} slices, ")
    assert len(summary) == 1
    for number, facts in enumerate(every, 1):
        root = next(path[0] for path in trace.tracks.values() if path[0].startswith(f"launch {number:02}: "))
        assert facts.kernel.name in root
        (launch,) = trace.of("launch", root)
        assert (launch.begin, launch.end, launch.name) == (0, facts.cycles, facts.kernel.name)
        check_wavefronts(trace, root, facts)
        check_requests(trace, root, facts)
        check_dram(trace, root, facts)
        if facts.engine is not None:
            check_engine(trace, root, facts)
        check_counters(trace, root, facts)
        check_order(trace, root)


def test_what_the_engine_reads_is_compacted_where_it_was_written_so(tmp_path: Path) -> None:
    launch = random_gemm("sgemm_dib_tiled", SMALL_SHAPE, GPU).launches[0]
    engine = ENGINE.model_copy(update={"compact": "on_write"})
    with Timeline(tmp_path / "t.pftrace") as timeline:
        facts = simulate(launch, GPU, engine, checked=True, timeline=timeline)
    trace = read_trace(tmp_path / "t.pftrace")
    root = next(path[0] for path in trace.tracks.values() if path[0].startswith("launch 01: "))
    reads = trace.of("engine read", root)
    assert len(reads) == facts.engine.compacted_fetched > 0
    assert {r.name for r in reads} == {"compacted line"}
    assert sum(int(r.cycles) for r in trace.of("engine request", root)) == facts.engine.latency_cycles
    (slice_,) = trace.of("launch", root)
    assert (slice_.begin, slice_.end) == (facts.engine.write_phase_cycles, facts.cycles)


def check_wavefronts(trace: ReadTrace, root: str, facts: Any) -> None:
    """Residences are all wavefronts; what is inside tiles them and adds up to the stall reasons."""
    waves = trace.of("wavefront", root)
    assert len(waves) == facts.kernel.wavefronts
    assert len({(w.notes["workgroup"], w.notes["wavefront"]) for w in waves}) == facts.kernel.wavefronts
    spent: Counter[str] = Counter()
    hidden = 0
    for wave in waves:
        at = wave.begin
        for inner in sorted(wave.inside, key=lambda s: s.begin):
            assert inner.begin == at, "a gap or an overlap"
            at = inner.end
            spent[inner.category] += int(inner.cycles)
        assert at == wave.end
        # of a slot's next wavefront the cycles beside the last one's s_endpgm are hidden
        assert 0 <= wave.begin - wave.notes["dispatched in cycle"] <= TURN
        hidden += int(wave.begin - wave.notes["dispatched in cycle"])
    spent["idle"] += hidden
    assert {reason: spent[reason] for reason in STALL_REASONS} == facts.stalls
    issued = trace.of("issued", root)
    assert len(issued) == facts.kernel.wavefront_instructions
    assert all(s.cycles == TURN and s.name in s.notes["at"] for s in issued)


def check_requests(trace: ReadTrace, root: str, facts: Any) -> None:
    """Every line looked up is a request that ends; its steps tile it; their kinds are those counted."""
    requests = trace.of("request", root)
    vector = [r for r in requests if "compute units" in r.track]
    shared = Counter(r.name for r in requests if "scalar and instruction caches" in r.track)
    kinds = Counter(r.name for r in vector)
    loads = facts.l1.read_transactions
    assert kinds["load hit"] == facts.l1.hits
    assert kinds["load merge"] == facts.l1.mshr_merges
    assert sum(n for name, n in kinds.items() if name.startswith("load")) == loads
    assert kinds["store"] + kinds["atomic"] + kinds["atomic with return"] == facts.l1.write_transactions
    assert sum(n for name, n in shared.items() if name != "instruction fetch") == facts.scalar_cache.misses
    assert shared["instruction fetch"] == facts.instruction_cache.misses + facts.instruction_cache.prefetches
    at_l2 = Counter(r.notes["L2"] for r in requests if "L2" in r.notes)
    assert at_l2 == Counter(
        {k: n for k, n in (("hit", facts.l2.hits), ("miss", facts.l2.misses), ("merge", facts.l2.mshr_merges)) if n}
    )
    assert not any("cut off" in r.notes for r in requests)
    latency = l1_latency = 0
    for r in requests:
        inside = {s.name: s for s in r.inside}
        if r.name != "load hit":
            at = r.begin
            for step in sorted(r.inside, key=lambda s: s.begin):
                assert step.begin == at
                at = step.end
            assert at == r.end
            assert r.inside[0].name == ("waiting for the line" if r.name == "load merge" else "request network")
        else:
            assert not r.inside and r.cycles >= GPU.l1.hit_latency_cycles
            l1_latency += GPU.l1.hit_latency_cycles
        if (r.name.startswith("load") or r.name == "instruction fetch") and "L2 channel" in r.notes:
            latency += int(inside["L2"].end - inside["request network"].end)
            assert ("DRAM" in inside or "compaction engine" in inside) == (r.notes["L2"] != "hit")
        if r.name.startswith("load") and r.inside and "compute units" in r.track:
            arrived = inside["waiting for the line" if r.name == "load merge" else "response network"].end
            l1_latency += int(arrived - r.begin) + GPU.l1.fill_latency_cycles
    assert latency == facts.l2.read_latency_total_cycles
    assert l1_latency == facts.l1.read_latency_total_cycles


def check_dram(trace: ReadTrace, root: str, facts: Any) -> None:
    """Commands and bursts by the DRAM's counters; the data bus is never taken twice."""
    commands = trace.of("DRAM", root)
    on_bus = [s for s in commands if s.track[-1] == "data bus"]
    in_banks = Counter(s.name for s in commands if s.track[-1] != "data bus")
    assert in_banks["read"] + in_banks["write"] == len(on_bus)
    bytes_of_burst = 32  # GDDR5: eight transfers of 32 bits
    assert len(on_bus) * bytes_of_burst == facts.dram.bytes_read + facts.dram.bytes_written
    assert in_banks["refresh"] == facts.dram.refreshes
    assert in_banks["activate"] == len(trace.of("open row", root))
    by_bus: dict[int, list[Any]] = defaultdict(list)
    for s in on_bus:
        by_bus[s.uuid].append(s)
    for bursts in by_bus.values():
        bursts.sort(key=lambda s: s.begin)
        assert all(a.end <= b.begin for a, b in pairwise(bursts))
    for s in commands:
        if s.name in ("read", "write", "activate") and s.track[-1].startswith("bank"):
            assert s.parent is not None and s.parent.notes["row"] == s.notes["row"]


def check_engine(trace: ReadTrace, root: str, facts: Any) -> None:
    requests, reads = trace.of("engine request", root), trace.of("engine read", root)
    assert len(requests) == facts.engine.responses > 0
    assert sum(int(r.cycles) for r in requests) == facts.engine.latency_cycles
    assert len(reads) == facts.engine.lines_fetched > 0
    assert sum(r.name == "sparse line" for r in reads) > 0


def check_counters(trace: ReadTrace, root: str, facts: Any) -> None:
    """The samples' means are the run's figures."""
    counters = {path[-1]: values for path, values in trace.counters.items() if path[0] == root}

    def mean(name: str) -> float:
        points = counters[name]
        assert points[0][0] == 0 and points[-1][0] == facts.cycles
        whole = sum(value * (after[0] - at) for (at, value), after in pairwise(points))
        return whole / facts.cycles

    assert mean("IPC") == pytest.approx(facts.kernel.wavefront_instructions / facts.cycles)
    busy = 100 * facts.dram.bus_busy_cycles / facts.dram.bus_available_cycles
    cycle = 100 / facts.dram.bus_available_cycles  # the fact is in whole cycles
    assert mean("DRAM data bus utilization") == pytest.approx(busy, abs=cycle)
    assert counters["resident wavefronts"][-1][1] == 0
    assert counters["workgroups finished"][-1][1] == facts.kernel.workgroups


def check_order(trace: ReadTrace, root: str) -> None:
    """Tracks lie as the documentation lists them."""
    groups = [name for name in trace.below(root) if (root, name) not in trace.counters]
    assert groups == [name for name in GROUPS if name in groups]
    assert len(groups) >= 3 and trace.below(root)[-len(groups) :] == groups
    *slots, last = trace.below(root, GROUPS[0], "CU 0")
    assert last == "memory requests"
    assert slots == sorted(slots) and all(name.startswith("SIMD ") for name in slots)
    assert trace.below(root, "DRAM") == [f"channel {n}" for n in range(GPU.dram.channels)]
    data_bus, *others = trace.below(root, "DRAM", "channel 0")
    banks = [name for name in others if name != "all banks"]
    assert data_bus == "data bus" and others[-len(banks) :] == sorted(
        banks, key=lambda name: int(name.removeprefix("bank "))
    )


def test_launches_are_ordered_as_they_ran(tmp_path: Path) -> None:
    (launch,) = random_gemm("sgemm_wide", SMALL_SHAPE, GPU).launches
    with Timeline(tmp_path / "t.pftrace", TimelineWindow(end=10)) as timeline:
        for _ in range(11):
            simulate(launch, GPU, timeline=timeline)
    shown = read_trace(tmp_path / "t.pftrace").below()
    assert [int(name.split(":")[0].removeprefix("launch ")) for name in shown] == list(range(1, 12))


def test_launches_that_are_not_selected_are_not_drawn(folder: Path, tmp_path: Path) -> None:
    facts, whole, _ = draw_whole(folder, "software")
    name = facts[1].kernel.name
    _, trace, summary = draw(tmp_path / "t.pftrace", "software", selector=parse_selector("", ["launch=2"]))
    assert trace.below() == [f"launch 02: {name}"] and len(summary) == 1
    assert len(trace.of("wavefront")) == len(
        [one for one in whole.of("wavefront") if one.track[0] == f"launch 02: {name}"]
    )
    with Timeline(tmp_path / "none.pftrace", selector=parse_selector("", ["launch=9"])) as timeline:
        for launch in random_gemm("software", SMALL_SHAPE, GPU).launches:
            simulate(launch, GPU, timeline=timeline)
    (text,) = timeline.summary()
    assert text == "--timeline-only launch=9: no launch has such a number; they are 1 to 2"


def test_a_window_clips_what_it_shows(folder: Path, tmp_path: Path) -> None:
    (facts,), whole, _ = draw_whole(folder)
    begin, end = facts.cycles // 3, facts.cycles // 2
    _, part, _ = draw(tmp_path / "part.pftrace", window=TimelineWindow(begin, end))
    (before,) = part.of("outside the window")
    assert (before.begin, before.end) == (0, begin), "without it the viewer's axis would begin with the window"
    assert part.viewed_from == begin
    shown = [s for s in part.slices if s is not before]
    assert shown and min(s.begin for s in shown) == begin and max(s.end for s in shown) == end
    for category in ("wavefront", "issued", "memory_dependency", "DRAM", "open row"):
        expected: Counter[tuple] = Counter()
        for s in whole.of(category):
            if s.begin < end and s.end > begin:
                expected[s.track, max(s.begin, begin), min(s.end, end)] += 1
        found = Counter((s.track, s.begin, s.end) for s in part.of(category))
        for drawn in (found, expected):  # a channel that stands still makes up for its refreshes after the window
            for key in [key for key in drawn if key[0][-1] == "all banks"]:
                del drawn[key]
        assert found == expected, category
    check_clipped_requests(whole, part, begin, end)
    assert all(begin <= at <= end for points in part.counters.values() for at, _ in points)


def check_clipped_requests(whole: ReadTrace, part: ReadTrace, begin: float, end: float) -> None:
    """What was sent before the window is known in it, and where every request was."""
    requests: list[Counter[tuple]] = []
    steps: list[Counter[str]] = []
    for trace in (whole, part):
        requests.append(Counter())
        steps.append(Counter())
        for r in trace.of("request"):
            if r.begin < end and r.end > begin:
                notes = {key: value for key, value in r.notes.items() if key in ("address", "SIMD", "slot")}
                requests[-1][r.track, r.name, max(r.begin, begin), min(r.end, end), *notes.values()] += 1
        for s in trace.of("request step"):
            cycles = min(s.end, end) - max(s.begin, begin)
            if cycles > 0:  # at the window's end it is not known which requests have come to L2
                steps[-1]["request network" if s.name == "L2 queue" else s.name] += int(cycles)
    assert requests[0] == requests[1]
    assert steps[0] == steps[1]


def test_a_window_clips_what_the_engine_does(folder: Path, tmp_path: Path) -> None:
    """Requests and reads that began before it or are under way at its end are shown too."""
    (facts,), whole, _ = draw_whole(folder, "sgemm_dib_tiled")
    spans = {category: [(s.begin, s.end) for s in whole.of(category)] for category in ("engine request", "engine read")}
    waits = min(begin for begin, _ in spans["engine request"]) + 20  # some are taken by then, some wait to be
    ends = {int(end) for _, end in spans["engine request"]}
    quarter = facts.cycles // 4  # where no answer waits in a channel's port, whose last cycle is known then
    while ends & set(range(quarter, quarter + QUEUED)):
        quarter += 1
    for begin, end in ((0, waits), (waits, quarter), (quarter, facts.cycles)):
        _, part, _ = draw(tmp_path / "part.pftrace", "sgemm_dib_tiled", window=TimelineWindow(int(begin), int(end)))
        check_clipped_requests(whole, part, begin, end)
        for category, known in spans.items():
            expected = Counter((max(a, begin), min(b, end)) for a, b in known if a < end and b > begin)
            assert Counter((s.begin, s.end) for s in part.of(category)) == expected
            cut = [s for s in part.of(category) if "cut off" in s.notes]
            ended_then = sum(a < end == b for a, b in known)  # such a one is cut off or has ended
            assert 0 <= len(cut) - sum(a < end < b for a, b in known) <= ended_then


def test_windows_next_to_one_another_show_everything_once(folder: Path, tmp_path: Path) -> None:
    (facts,), whole, _ = draw_whole(folder, "sgemm_4x4")
    cuts = [0, 777, 778, facts.cycles // 2, facts.cycles]
    time: Counter[str] = Counter()
    for a, b in pairwise(cuts):
        _, part, _ = draw(tmp_path / "part.pftrace", "sgemm_4x4", window=TimelineWindow(a, b))
        for s in part.slices:
            if s.category in ("wavefront", "open row", "launch", "issued", "memory_dependency", "synchronization"):
                time[s.category] += round(s.cycles * 1000)
    for category, total in time.items():
        assert abs(total - sum(round(s.cycles * 1000) for s in whole.of(category))) <= 2 * len(whole.of(category))


def test_what_ends_as_the_window_begins_is_not_shown(tmp_path: Path) -> None:
    """Else it is a slice of no length, which `read_trace` refuses."""
    hbm = GPU.model_copy(update={"clock_ghz": 1.0, "dram": DramSpec(standard="hbm1", channels=4)})
    _, whole, _ = draw(tmp_path / "whole.pftrace", shape=(64, 32, 64), gpu=hbm)
    stored = max(s.end for s in whole.of("request") if s.name == "store")
    closed = next(s.begin for s in whole.of("DRAM") if s.name == "precharge")
    for at in (int(stored), int(closed)):
        draw(tmp_path / "part.pftrace", shape=(64, 32, 64), gpu=hbm, window=TimelineWindow(at, at + 50))


def test_a_wavefront_hidden_up_to_the_windows_end_is_not_shown(tmp_path: Path) -> None:
    """It takes its slot while the one before is in the turn of its s_endpgm."""
    cu = GPU.cu.model_copy(update={"waves_per_simd": 4})
    small = GPU.model_copy(update={"shader_arrays": 1, "cus_per_array": 1, "cu": cu})
    _, whole, _ = draw(tmp_path / "whole.pftrace", "software", gpu=small)
    late = next(w for w in whole.of("wavefront") if w.begin > w.notes["dispatched in cycle"])
    _, part, _ = draw(tmp_path / "part.pftrace", "software", gpu=small, window=TimelineWindow(0, int(late.begin)))
    assert late.notes not in [w.notes for w in part.of("wavefront")]


def test_a_full_timeline_says_where_it_ends(tmp_path: Path) -> None:
    _, trace, summary = draw(tmp_path / "t.pftrace", max_slices=2000)
    (launch,) = trace.of("launch")
    assert 2000 <= len(trace.slices) < 20_000
    assert summary[1].startswith(f"launch 01: sgemm_wide is shown up to cycle {int(launch.end):,} of ")
    assert "--window" in summary[1]
    ahead = 90  # cycles by which an instruction's turn, data on a bus or the end of a refresh may be known ahead
    assert 0 <= max(s.end for s in trace.slices) - launch.end < ahead


def test_a_launch_before_the_window_is_told_of(tmp_path: Path) -> None:
    (facts,), trace, summary = draw(tmp_path / "t.pftrace.gz", window=TimelineWindow(begin=10**9))
    assert not trace.slices
    assert summary[1] == f"launch 01: sgemm_wide ended in cycle {facts.cycles:,}, before the timeline's window began"


def test_small_caches_and_full_queues(tmp_path: Path) -> None:
    """Merges, bypassed loads and stalls at every level."""
    tight = GPU.model_copy(update={"l1": L1Spec(size_kib=1, mshrs=2, mshr_targets=4, return_entries=2, bypass=True)})
    (facts,), trace, _ = draw(tmp_path / "t.pftrace", gpu=tight)
    assert (
        Counter(r.name for r in trace.of("request", "compute units"))["load miss"]
        == facts.l1.misses - facts.l1.write_transactions
    )
    ideal = GPU.model_copy(update={"dram": DramSpec(channels=4, model="ideal")})
    (facts,), trace, _ = draw(tmp_path / "t.pftrace", gpu=ideal)
    assert not trace.of("DRAM") and Counter(s.name for s in trace.of("request step"))["DRAM"] > 0


def test_the_command_draws_both_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.pftrace.gz"
    sets = ("workload.batch=1", "workload.layer.input_channels=8", "workload.layer.output_channels=64")
    data = ("workload.data=synthetic", "workload.sparsity=0.7")
    assignments = [text for value in (*sets, *data) for text in ("--set", value)]
    arguments = ["--timeline", str(path), "--window", "100:900", *assignments]
    assert invoke(["run", "layerB.yaml", "--engine", "both", *arguments]) == 0
    trace = read_trace(path)
    roots = {names[0] for names in trace.tracks.values()}
    assert {name.split(":")[0] for name in roots} >= {"launch 01", "launch 02"}
    assert [name for name in roots if name.endswith(", engine on")]
    assert all((s.begin, s.end) == (100, 900) for s in trace.of("launch"))
    assert f"{path}: timeline of {len(trace.slices):,} slices, " in capsys.readouterr().err


def test_a_fault_leaves_what_was_drawn(tmp_path: Path) -> None:
    """The timeline of a launch that fails shows how it came to that."""
    (launch,) = random_gemm("sgemm_wide", SMALL_SHAPE, GPU).launches
    with pytest.raises(ExecutionFault), Timeline(tmp_path / "t.pftrace") as timeline:
        simulate(launch, GPU, max_instructions=200, timeline=timeline)
    assert timeline.summary() and read_trace(tmp_path / "t.pftrace").of("issued")


@cache
def vector_add_trace(trace: Callable[[], Path] = examples._vector_add_trace) -> ReadTrace:
    """One run for all answers."""
    return read_trace(trace())


@pytest.mark.parametrize(("name", "made"), [("steps", examples.miss_steps), ("waits", examples.waits)])
def test_the_answers_in_the_documentation_are_those_of_today(
    name: str, made: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples, "read_trace", lambda _: vector_add_trace())
    monkeypatch.setattr(examples, "_vector_add_trace", lambda: None)
    page = (DOCS / "how-to" / "timeline.md").read_text(encoding="utf-8")
    assert section(page, name) == made(), "run python -m docs._site.sections how-to/timeline"

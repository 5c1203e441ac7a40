"""Is what a run left behind kept whole, found for equal work alone, and laid into the tables by what it is of?"""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.counters import TABLES
from gpusim.model.core.facts import Hotspot, RunFacts, combined
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.sampled import WHOLE, WINDOWS, Replicates, Sampling, UncertaintyComponent
from gpusim.model.energy.dram import POWER
from gpusim.model.energy.model import EnergyModel
from gpusim.model.energy.spec import EnergySpec
from gpusim.results import metrics
from gpusim.results.records.record import (
    CommandTimes,
    KernelChoice,
    LaunchGroup,
    PartLaunch,
    PartRecord,
    RunRecord,
    VerificationFacts,
)
from gpusim.results.report.document import document
from gpusim.results.store import work as sources
from gpusim.results.store.file import StoreError
from gpusim.results.store.keeper import RunClock, StoreWriter
from gpusim.results.store.outcome import MetricSet, MetricValue, RunOutcome, build_outcome, list_metric_values
from gpusim.results.store.project import store_to_read, store_to_write
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.records import packed, plain, restored, stored_run, unpacked
from gpusim.results.store.work import NetworkRows, RunDescription
from isa.execution.resident import WavefrontGroup
from isa.object.line_table import SourceFile, SourceLine
from spartan.engine_spec import EngineSpec
from tests.support.daily import given_daily

LINE = SourceLine(SourceFile("a.cl", "/b", b"\x01\xff"), 12)
VERIFIED = VerificationFacts(True, 1e-7, 1e-5)
WORK = RunDescription("run", "layer", {"gpu": {"name": "g", "cus": 4}, "run": {"verify": True}}, (), "g", 1, 8)


def facts(name: str, cycles: int, **more: Any) -> RunFacts:
    found = RunFacts.of(kernel={"name": name, "cycles": cycles, "clock_ghz": 1.5}, **more)
    found.hotspots = [Hotspot(name, 64, "v_add", {"idle": 3}, LINE), Hotspot(name, 68, "s_nop", {"idle": 1})]
    found.resident = [WavefrontGroup(3, 8, "s_barrier", "waiting", LINE), WavefrontGroup(3, 8, "s_endpgm", "no")]
    return found


def record(*launches: RunFacts, **more: Any) -> RunRecord:
    times = [CommandTimes("k", 0.5, 1.0, 2.0), CommandTimes("to 'a'", 2.0, 2.5, 3.5, 64)]
    return RunRecord(True, "kernel", list(launches), 12.5, VerificationFacts(True, 1e-7, 1e-5), commands=times, **more)


@st.composite
def run_records(draw: st.DrawFn, launches: int = 3) -> RunRecord:
    """Records with any counts, of so many launches at most."""
    found = []
    for _ in range(draw(st.integers(1, launches))):
        held = facts(draw(st.text()), draw(st.integers(0, 2**62)))
        for table in draw(st.lists(st.sampled_from(TABLES), unique=True)):
            for counter in table.counters:
                if counter.name not in held.sections.get(table.section, {}):
                    held.add(table.section, {counter.name: draw(st.integers(0, 2**62) | st.floats(allow_nan=False))})
        found.append(held)
    verification = draw(st.none() | st.just(VerificationFacts(False, 2.0, 1.0)))
    return replace(record(*found, variant=draw(st.sampled_from(["", "dense"]))), verification=verification)


@given_daily(8, 25, st.lists(run_records(), max_size=2))
def test_records_come_back_as_they_were(records: list[RunRecord]) -> None:
    assert restored(json.loads(json.dumps(plain(records)))) == records


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
VALUES = st.dictionaries(st.text(), PLAIN, max_size=3)


@st.composite
def records_with_rows(draw: st.DrawFn) -> RunRecord:
    """Records of networks and programs: with parts, whose single launches have no facts, places and values."""
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        launches = [PartLaunch(draw(st.text()), None, draw(st.booleans())) for _ in range(draw(st.integers(0, 2)))]
        whole = draw(st.none() | run_records(launches=1))
        parts.append(
            PartRecord(
                draw(st.text()),
                draw(st.sampled_from(["", "forward", "backward_data"])),
                draw(VALUES),
                launches,
                None if whole is None else whole.launches[0],
                draw(st.none() | st.just(VerificationFacts(True, 1e-9, 1.0))),
            )
        )
    return replace(
        draw(run_records()),
        parts=parts,
        lines=parts[:1],
        values=draw(VALUES),
        places=draw(st.lists(VALUES, max_size=2)),
        launch_count=draw(st.none() | st.integers(0, 2**40)),
        exit_code=draw(st.none() | st.integers(-1, 255)),
        choice=draw(st.none() | st.just(KernelChoice("k", {"k": 1}, {"l": 2}, {"m": 3}, 0.25))),
        commands=[CommandTimes("k", 0.5, 1.0, 2.0, 0, 0x7F00, "conv1 forward"), CommandTimes("c", 2, 3, 4, 5)],
    )


@given_daily(6, 50, st.lists(records_with_rows(), max_size=2))
def test_records_with_rows_come_back_as_they_were(records: list[RunRecord]) -> None:
    assert restored(json.loads(json.dumps(plain(records)))) == records


def test_every_field_of_a_record_and_of_its_parts_is_kept() -> None:
    """None that has been added since is forgotten: each of these has another value than by default."""
    part = PartRecord("conv1", "forward", {"macs": 3}, [PartLaunch("k", None, False)], facts("k", 5), VERIFIED)
    part = replace(part, groups=[LaunchGroup(2, facts("k", 3)), LaunchGroup(1, facts("k", 2))])
    whole = RunRecord(
        True, "kernel", [facts("k", 7)], 12.5, VERIFIED, 1.5, 2.5, 3.5, True, 0.25, 0.125, 4, "dense",
        [CommandTimes("k", 0.5, 1.0, 2.0, 3, 4, "conv1 forward")], "out of time",
        EnergyModel.of(EnergySpec(), GpuSpec()), KernelChoice("k", {"k": 1}, {"l": 2}, {"m": 3}, 0.25),
        [part], [replace(part, groups=[])], {"streams": [{"stream": "0"}]}, [{"process": 7}], 99, 5,
    )  # fmt: skip
    blank = RunRecord(False, "", [])
    assert [f.name for f in fields(whole) if f.init and getattr(whole, f.name) == getattr(blank, f.name)] == []
    (found,) = restored(json.loads(json.dumps(plain([whole]))))
    for f in fields(RunRecord):
        if f.init:
            assert getattr(found, f.name) == getattr(whole, f.name), f.name
    assert found.total == whole.total and found.launched == 99


def test_records_of_an_earlier_version_without_rows_are_restored() -> None:
    held = json.loads(json.dumps(plain([record(facts("k", 7))])))
    for name in ("choice", "parts", "values", "places", "launch_count", "exit_code"):
        del held[0][name]
    assert restored(held) == [record(facts("k", 7))]


def network_record(variant: str = "") -> RunRecord:
    """Of two layers, the second of which has two launches of one class, and one layer that was not finished."""
    first, second, twice = facts("k", 100), facts("l", 50), combined([facts("l", 50), facts("l", 50)])
    for one in (first, second, twice):
        one.add("roofline", {"valu": 10.0})
        one.add("stalls", {"issued": 5})
    values = {"kind": "convolution", "operator": "gemm", "macs": 10, "needed_macs": 8}
    return replace(
        record(variant=variant),
        parts=[
            PartRecord("conv1", "forward", values, [PartLaunch("k", first)], first, VERIFIED),
            PartRecord("fc", "forward", values, [PartLaunch("l", second), PartLaunch("l", second, False)], twice),
            PartRecord("late", "forward", values, [PartLaunch("m", None, False)]),
        ],
        launch_count=4,
        values={"planned_bytes": 123},
    )


def test_a_network_s_record_is_laid_into_the_tables_and_its_document_comes_back(tmp_path: Path) -> None:
    about = {"kind": "net", "network": "n", "phase": "train", "batch": 1, "values": "real"}
    records = [network_record()]
    rows = NetworkRows("n", "n.yaml", "id", [("conv1", "convolution"), ("fc", "gemm"), ("late", "gemm")])
    kept(tmp_path / "s.db", replace(WORK, kind="net", network=rows), build_outcome(records, [""], 0, about))
    with StoreReader(tmp_path / "s.db") as results:
        stored = stored_run(results, "1")
        launches = results.table("launches")
        by_row = results.table("metrics", name="kernel.cycles")
        named = {None: None, **{row["id"]: row["name"] for row in results.table("layers")}}
    found = stored.document()
    assert found == document(dict(WORK.configuration), records, [""], about) == json.loads(json.dumps(found))
    assert stored.records == [replace(records[0], parts=[without_facts(part) for part in records[0].parts])]
    assert [row["cycles"] for row in found["rows"]] == [100, 100, None]
    assert (found["kind"], found["network"], found["planned_bytes"]) == ("net", "n", 123)
    assert found["total"]["launches"] == 4 and found["total"]["simulated_launches"] == 2
    assert (found["total"]["rows"], found["total"]["finished_rows"], found["total"]["compared_rows"]) == (3, 2, 1)
    assert (found["total"]["macs"], found["total"]["cycles"], found["kernel"]["cycles"]) == (30, 200, 200)
    assert [(named[row["layer"]], row["kernel"], row["simulated"]) for row in launches] == [
        ("conv1", "k", 1), ("fc", "l", 1), ("fc", "l", 0), ("late", "m", 0),
    ]  # fmt: skip
    assert [(row["layer"], row["value"]) for row in by_row if row["launch"] is None] == [
        (None, 200), ("conv1", 100), ("fc", 100),
    ]  # fmt: skip
    assert [(row["layer"], row["value"]) for row in by_row if row["launch"] is not None] == [
        ("conv1", 100), ("fc", 50), ("fc", 50),
    ]  # fmt: skip


def without_facts(part: PartRecord) -> PartRecord:
    """A part as a store has it: the metrics of its single launches lie in the tables."""
    return replace(part, launches=[launch._replace(facts=None) for launch in part.launches])


def test_a_program_s_record_keeps_where_its_launches_happened(tmp_path: Path) -> None:
    places = [{"kernel": name, "process": 7, "started_us": 0.5} for name in ("k", "l")]
    whole = replace(
        record(facts("k", 100), facts("l", 50)),
        parts=[PartRecord(name, "", {"timed": 1}, [], facts(name, cycles)) for name, cycles in (("k", 100), ("l", 50))],
        places=places, values={"exit_code": 0, "streams": []}, exit_code=0, launch_count=2,
    )  # fmt: skip
    for one in (*whole.launches, *(part.facts for part in whole.parts)):
        assert one is not None
        one.add("stalls", {"issued": 5})
    kept(
        tmp_path / "s.db", replace(WORK, kind="hip", repeatable=False), build_outcome([whole], [""], 0, {"kind": "hip"})
    )
    with StoreReader(tmp_path / "s.db") as results:
        stored = stored_run(results, "1")
        by_row = results.table("metrics", name="kernel.cycles")
    assert stored.records == [whole]
    found = stored.document()
    assert [launch["launch"] for launch in found["launches"]] == places
    assert [launch["kernel"]["cycles"] for launch in found["launches"]] == [100, 50]
    assert (found["exit_code"], found["kind"], len(found["rows"])) == (0, "hip", 2)
    assert [row["value"] for row in by_row] == [150, 100, 50], "of all, and of each launch"


@st.composite
def samplings(draw: st.DrawFn) -> Sampling:
    """Of facts with any counts, each with any deviations."""
    (held,) = draw(run_records(launches=1)).launches
    vector = CountVector.of(held.sections)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    doubts = []
    for _ in range(draw(st.integers(0, 3))):
        deviations = random.normal(scale=draw(st.floats(0, 1e12)), size=(draw(st.integers(0, 3)), sum(vector.sizes)))
        replicates = Replicates(
            draw(st.floats(0, 1e3)), deviations, draw(st.text(max_size=3)) if len(deviations) == 1 else ""
        )
        doubts.append(UncertaintyComponent(vector, replicates, draw(st.integers(1, 9))))
    return Sampling(
        *(draw(st.floats(0.5, 0.999)), draw(st.sampled_from([WHOLE, WINDOWS])), draw(st.text())),
        *(draw(st.floats(0, 1e9)) for _ in range(3)),
        draw(st.booleans()),
        tuple(doubts),
        unasked=draw(st.floats(0, 1e9)),
    )


@given_daily(8, 25, samplings())
def test_how_a_launch_was_sampled_comes_back_as_it_was(sampling: Sampling) -> None:
    held = facts("k", 1000)
    held.sampling = sampling
    (found,) = restored(json.loads(json.dumps(plain([record(held)]), allow_nan=False)))
    back = found.launches[0].sampling
    assert back is not None
    assert replace(back, doubts=()) == replace(sampling, doubts=())
    assert back.described() == sampling.described()
    assert len(back.doubts) == len(sampling.doubts)
    for one, other in zip(back.doubts, sampling.doubts, strict=True):
        assert (one.vector, one.times, one.replicates.factor) == (other.vector, other.times, other.replicates.factor)
        assert one.replicates.shared == other.replicates.shared
        assert np.array_equal(one.replicates.deviations, other.replicates.deviations)
    for section, name in sampling.doubts[0].vector.keys if sampling.doubts else ():
        assert back.half_width(section, name) == sampling.half_width(section, name)


@pytest.mark.parametrize("standard", sorted(POWER))
@pytest.mark.parametrize("engine", [None, EngineSpec()])
def test_a_machine_s_energies_come_back_as_they_were(standard: str, engine: EngineSpec | None) -> None:
    gpu = GpuSpec.model_validate({"dram": {"standard": standard}})
    model = EnergyModel.of(EnergySpec(), gpu, engine)
    run = record(facts("k", 1000, dram={"activates": 7, "bytes_read": 640}), energy=model)
    (found,) = restored(json.loads(json.dumps(plain([run]))))
    assert found == run and found.energy == model
    assert metrics.to_tree(found)["energy"] == metrics.to_tree(run)["energy"] is not None


def kept(path: Path, work: RunDescription, outcome: RunOutcome, fresh: bool = False) -> int:
    with StoreWriter(path, fresh) as keeper:
        return keeper.keep(work, outcome, RunClock()).number


def test_equal_work_is_found_and_answered_with_the_same_document(tmp_path: Path) -> None:
    records = [record(facts("k", 100), facts("l", 50), variant="dense"), record(facts("s", 30), variant="sparse")]
    assert kept(tmp_path / "s.db", WORK, outcome_of(records, 1)) == 1
    with StoreWriter(tmp_path / "s.db") as keeper:
        found = keeper.found(replace(WORK))
        assert found is not None
        assert (found.number, found.exit_code) == (1, 1)
        assert "run 1 of 20" in found.sentence(keeper.path)
        again = restored(found.content["records"])
    names, configuration = ["dense", "sparse"], dict(WORK.configuration)
    assert document(configuration, again, names) == document(configuration, records, names)


def outcome_of(records: list[RunRecord], code: int) -> RunOutcome:
    return build_outcome(records, [record.variant for record in records], code)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "other",
    [
        replace(WORK, kind="exec"),
        replace(WORK, configuration={**WORK.configuration, "run": {"verify": False}}),
        replace(WORK, repeatable=False),
    ],
)
def test_other_work_is_not_found(tmp_path: Path, other: RunDescription) -> None:
    kept(tmp_path / "s.db", WORK, outcome_of([record(facts("k", 1))], 0))
    with StoreWriter(tmp_path / "s.db") as keeper:
        assert keeper.found(other) is None


def test_work_is_other_work_when_a_file_that_it_reads_or_the_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.npy", "one")
    kept(tmp_path / "s.db", replace(WORK, inputs=[file]), outcome_of([record(facts("k", 1))], 0))
    with StoreWriter(tmp_path / "s.db") as keeper:
        assert keeper.found(replace(WORK, inputs=[file])) is not None
        assert keeper.found(replace(WORK, inputs=[write(tmp_path / "b.npy", "one")])) is not None
        assert keeper.found(replace(WORK, inputs=[write(tmp_path / "b.npy", "two")])) is None
        monkeypatch.setattr("gpusim.results.store.work.sources_hash", lambda: "another")
        assert keeper.found(replace(WORK, inputs=[file])) is None


def test_the_hash_of_the_sources_is_of_all_that_is_simulated_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    (tmp_path / "isa").mkdir()
    seen = set()
    for name, text in (
        ("a.py", "1"),
        ("a.py", "2"),
        ("b.py", "2"),
        ("k.hsaco", "2"),
        ("t.txt", "2"),
        ("notes.md", "2"),
    ):
        write(tmp_path / "isa" / name, text)
        sources._files_hash.cache_clear()
        seen.add(sources.sources_hash(("isa",)))
    sources._files_hash.cache_clear()
    assert len(seen) == 5


def test_neither_partial_nor_fresh_nor_damaged_results_answer(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    kept(path, WORK, outcome_of([record(facts("k", 1), partial=True, stopped_by="interrupted")], 130))
    with StoreWriter(path) as keeper:
        assert keeper.found(WORK) is None
    kept(path, WORK, outcome_of([record(facts("k", 1))], 0))
    kept(path, WORK, outcome_of([record(facts("k", 2))], 0), fresh=True)
    with StoreWriter(path, fresh=True) as keeper:
        assert keeper.found(WORK) is None
        keeper._connection.execute("UPDATE results SET content = x'00' WHERE run = 3")
    with StoreWriter(path) as keeper:
        found = keeper.found(WORK)
    assert found is not None
    assert found.number == 2
    assert [row["state"] for row in StoreReader(path).table("runs")] == ["partial", "done", "done"]


def test_equal_work_of_two_at_once_is_kept_once(tmp_path: Path) -> None:
    """Both look before either has ended; the second one's points of a sweep are then known by the first one's run."""
    path, other = tmp_path / "s.db", replace(WORK, configuration={"run": {"verify": False}})
    with StoreWriter(path) as first, StoreWriter(path) as second:
        sweep = first.sweep("s", "s", {"axes": {}}, 2)
        assert first.found(WORK) is None and second.found(WORK) is None
        stopped = first.keep(WORK, outcome_of([record(facts("k", 1), partial=True)], 130), RunClock())
        one = first.keep(WORK, outcome_of([record(facts("k", 1))], 0), RunClock())
        same = second.keep(WORK, outcome_of([record(facts("k", 1))], 0), RunClock(), sweep, [0, 1])
        second.keep(other, outcome_of([record(facts("k", 1))], 0), RunClock())
        with StoreWriter(path, fresh=True) as third:
            again = third.keep(WORK, outcome_of([record(facts("k", 1))], 0), RunClock())
    assert [stopped, one, same, again] == [(1, True), (2, True), (2, False), (4, True)]
    assert one.sentence(path) == f"kept in {path}: run 2"
    assert same.sentence(path) == f"kept in {path}: run 2, an equal one that came in meanwhile"
    with StoreReader(path) as results:
        assert len(results.table("runs")) == 4
        assert [(row["number"], row["run"]) for row in results.table("points")] == [(0, 2), (1, 2)]


def test_metrics_are_those_of_the_metric_tables(tmp_path: Path) -> None:
    whole = record(facts("k", 100, l1={"hits": 3}), facts("l", 50, l1={"hits": 4}), facts("k", 7))
    kept(tmp_path / "s.db", WORK, outcome_of([whole], 0))
    with StoreReader(tmp_path / "s.db") as results:
        held = {row["name"]: row["value"] for row in results.table("metrics", launch=None)}
        units = {row["name"]: row["unit"] for row in results.table("metrics")}
        launches = results.table("launches")
        by_launch = results.table("metrics", name="kernel.cycles")
    expected = {path: value for path, value in metrics.leaves(metrics.to_tree(whole)) if value is not None}
    assert held == {path: int(v) if isinstance(v, bool) else v for path, v in expected.items()}
    assert units == {path: metrics.describe(path).unit for path in units}  # type: ignore[union-attr]
    order = [(row["kernel"], row["invocation"], row["of_kernel"]) for row in launches]
    assert order == [("k", 0, 0), ("l", 1, 0), ("k", 2, 1)]
    numbers = {row["id"]: row["kernel"] for row in launches}
    assert [(numbers.get(row["launch"]), row["value"]) for row in by_launch] == [
        (None, 157), ("k", 100), ("l", 50), ("k", 7),
    ]  # fmt: skip


def test_values_that_sqlite_has_no_form_for(tmp_path: Path) -> None:
    values = [
        MetricValue("a", "u", "d", 2**70),
        MetricValue("b", "u", "d", [1, 2]),
        MetricValue("c", "u", "d", 0.5, half_width=0.1),
    ]
    kept(tmp_path / "s.db", WORK, RunOutcome({}, "done", 0, [MetricSet(values)]))
    rows = {row["name"]: (row["value"], row["half_width"]) for row in StoreReader(tmp_path / "s.db").table("metrics")}
    assert rows == {"a": (float(2**70), None), "b": ("[1,2]", None), "c": (0.5, 0.1)}


def test_a_run_that_cannot_be_kept_whole_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with StoreWriter(tmp_path / "s.db") as keeper:
        bad = RunOutcome(
            {}, "done", 0, [MetricSet([MetricValue("a", "u", "d", 1), MetricValue("b", "u", "d", object())])]
        )
        with pytest.raises(StoreError):
            keeper.keep(WORK, bad, RunClock())
        number = keeper.keep(
            WORK, RunOutcome({}, "done", 0, [MetricSet([MetricValue("a", "u", "d", 1)])]), RunClock()
        ).number
    with StoreReader(tmp_path / "s.db") as results:
        assert [row["id"] for row in results.table("runs")] == [number]
        assert len(results.table("metric_values")) == len(results.table("subjects")) == 1
    assert unpacked(packed({"a": [1.5]})) == {"a": [1.5]}


def test_which_store_a_folder_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert (store_to_write(None), store_to_write(""), store_to_write("x.db")) == (None, Path("gpusim.db"), Path("x.db"))
    assert store_to_read(None) == Path("gpusim.db")
    write(tmp_path / "gpusim.toml", '[store]\npath = "all.db"\n')
    assert store_to_write(None) == store_to_write("") == store_to_read(None) == tmp_path / "all.db"
    assert store_to_read("x.db") == Path("x.db")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[stor]\npath = "a"', "stor: unknown key; did you mean 'store'?"),
        ('[store]\npaht = "a"', "store.paht: unknown key; did you mean 'store.path'?"),
        ("[store]\npath = 3", "store.path: 3 is not allowed"),
        ('[store]\npath = ""', "store.path: '' is not allowed"),
        ("store = 1", "store: must be a section"),
        ("[store", "cannot be read"),
    ],
)
def test_a_project_file_that_is_wrong_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "gpusim.toml", text)
    with pytest.raises(UserError) as caught:
        store_to_write(None)
    assert said in str(caught.value)
    assert str(tmp_path / "gpusim.toml") in str(caught.value)


def test_sampled_values_have_their_half_widths() -> None:
    tree = {"kernel": {"cycles": 100, "cycles_half_width": 2.5, "name": "k"}, "l2": None, "sampling": {"method": "x"}}
    found = {value.name: (value.value, value.half_width) for value in list_metric_values(tree)}
    assert found == {"kernel.cycles": (100, 2.5), "kernel.name": ("k", None)}

"""Does a comparison find what changed, biggest first, and say what moved with it?"""

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.model.core.facts import RunFacts
from gpusim.results import metrics
from gpusim.results.records.record import RunRecord
from gpusim.results.store.keeper import RunClock, StoreWriter
from gpusim.results.store.outcome import MetricSet, MetricValue, RunOutcome, build_outcome
from gpusim.results.store.work import RunDescription
from gpusim.study.compare import text
from gpusim.study.compare.comparison import compare
from gpusim.study.compare.rules import RULES, SHARE, ComparisonRule, findings
from gpusim.study.compare.sides import ComparedRun, RunPart, side
from tests.support.results import QUIET, network_of, result_of

STALLS = [f"stalls.{rule.measure.partition('.')[2]}" for rule in RULES if rule.topic == "stall"]
# so that no rule speaks when nothing changes, and each measure can move alone by its numerator
BASE: dict[str, Any] = {path: 1000.0 for rule in RULES for path in rule.paths} | {
    **{path: 0.5 for rule in RULES for path in rule.paths if path.endswith("_rate")},
    **{f"roofline.{name}": 100.0 for name in ("valu", "l2", "dram")},
    "roofline.l2": 600.0,
    "kernel.cycles": 1000.0,
    "engine.requests": 4000.0,
    "engine.lines_fetched": 4000.0,
}


def test_rules_are_of_metrics_that_there_are() -> None:
    for rule in RULES:
        assert rule.paths and rule.measure.count("/") <= 1
        assert [path for path in rule.paths if metrics.describe(path) is None] == [], rule
    every = {m.path for m in metrics.METRICS if m.path.startswith("stalls.")}
    assert set(STALLS) == every
    assert {m.path.partition(".")[2] for m in metrics.METRICS if m.path.startswith("roofline.")} >= {"valu", "dram"}


def test_equal_metrics_need_no_reason() -> None:
    assert findings(BASE, dict(BASE)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.measure)
@pytest.mark.parametrize("factor", [1.9, 0.1])
def test_each_rule_speaks_of_its_measure_alone(rule: ComparisonRule, factor: float) -> None:
    moved = {**BASE, rule.paths[0]: BASE[rule.paths[0]] * factor}
    found = [f for f in findings(BASE, moved) if f.paths == tuple(rule.paths)]
    assert len(found) == 1
    assert found[0].text.startswith(f"{rule.more if factor > 1 else rule.less}: ")
    assert (found[0].change > 0) == (factor > 1)
    assert -1 <= found[0].change <= 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.measure)
def test_a_rule_is_silent_where_its_metrics_do_not_apply(rule: ComparisonRule) -> None:
    assert rule.value({**BASE, rule.paths[-1]: None}) is None
    assert findings({**BASE, rule.paths[0]: None}, BASE) == [
        f for f in findings({**BASE, rule.paths[0]: None}, BASE) if f.paths != tuple(rule.paths)
    ]


def test_a_measure_is_a_sum_divided_by_a_sum() -> None:
    values = {"a.b": 1, "a.c": 2, "d.e": 6}
    assert ComparisonRule("work", "a.b + a.c / d.e", "", "").value(values) == 0.5
    assert ComparisonRule("work", "a.b + a.c", "", "").value(values) == 3
    assert ComparisonRule("work", "a.b / d.e", "", "").value({**values, "d.e": 0}) is None


def test_changes_of_stalls_add_up_to_that_of_all_wavefront_cycles() -> None:
    after = {**BASE, **{path: 1000.0 + 700 * n for n, path in enumerate(STALLS)}}
    found = [f for f in findings(BASE, after) if f.topic == "stall"]
    total = sum(after[path] for path in STALLS) / sum(BASE[path] for path in STALLS) - 1
    assert sum(f.change for f in found) == pytest.approx(total)
    assert [abs(f.change) for f in found] == sorted((abs(f.change) for f in found), reverse=True)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"roofline.dram": 700.0}, "bound by dram instead of l2: 60.0 % → 70.0 %"),
        ({"roofline.l2": 800.0}, "nearer to the bound l2: 60.0 % → 80.0 %"),
        ({"roofline.l2": 300.0}, "farther from the bound l2: 60.0 % → 30.0 %"),
        ({"roofline.l2": 600.0 + 999 * SHARE}, None),
    ],
)
def test_the_roofline_that_is_nearest(after: dict[str, float], said: str | None) -> None:
    found = [f.text for f in findings(BASE, {**BASE, **after}) if f.topic == "roofline"]
    assert [text.startswith(said) for text in found] == ([True] if said else [])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.measure)
def test_what_went_against_the_time_comes_last_and_says_so(rule: ComparisonRule) -> None:
    more = {**BASE, rule.paths[0]: BASE[rule.paths[0]] * 1.9}
    for time, against in ((20.0, rule.slows is False), (5.0, rule.slows is True), (10.0, False)):
        found = findings({**BASE, "kernel.time_us": 10.0}, {**more, "kernel.time_us": time})
        assert [f.against for f in found] == sorted(f.against for f in found)
        (one,) = [f for f in found if f.paths == tuple(rule.paths)]
        assert one.against is against
        assert one.sentence.startswith("although ") is against


def test_metrics_within_their_half_widths_have_not_changed() -> None:
    parts = [RunPart({"l2.hits": a, "l1.hits": b}, {"l2.hits": 3.0}) for a, b in ((100, 100), (105, 101), (110, 101))]
    sides = [ComparedRun(str(n), "", {"": part}, {}) for n, part in enumerate(parts)]
    assert [c.path for c in compare(sides[:2]).parts[0].changes] == ["l1.hits"]
    assert {c.path for c in compare(sides).parts[0].changes} == {"l1.hits", "l2.hits"}


def made(label: str, parts: dict[str, dict[str, Any]], **configuration: Any) -> ComparedRun:
    return ComparedRun(label, "", {name: RunPart(values) for name, values in parts.items()}, configuration)


def test_changes_are_ordered_by_their_factor_whichever_way() -> None:
    a = {"l1.hits": 100, "l2.hits": 100, "dram.reads": 0, "l1.misses": 7, "kernel.name": "k", "simulator.wall_s": 1.0}
    b = {"l1.hits": 10, "l2.hits": 200, "dram.reads": 5, "l1.misses": 7, "kernel.name": "l", "simulator.wall_s": 2.0}
    (part,) = compare([made("a", {"": a}), made("b", {"sparse": b})]).parts
    assert [(c.path, c.ratio) for c in part.changes] == [("dram.reads", None), ("l1.hits", 0.1), ("l2.hits", 2.0)]


def test_parts_are_ordered_by_their_time_and_what_one_has_alone_is_named() -> None:
    times = [{"c1 forward": 10.0, "c2 forward": 5.0, "c3 forward": 1.0}, {"c1 forward": 11.0, "c2 forward": 9.0}]
    sides = [made("s", {p: {"kernel.time_us": t} for p, t in held.items()}, sib=n) for n, held in enumerate(times)]
    found = compare(sides)
    assert [part.name for part in found.parts] == ["c2 forward", "c1 forward"]
    assert found.alone == ["c3 forward"]
    assert found.configuration == {"sib": [0, 1]}
    with pytest.raises(UserError, match="nothing in common"):
        compare([sides[0], made("t", {"x": {}, "y": {}})])


def test_times_within_their_confidence_intervals_are_not_distinguishable() -> None:
    def sampled(time: float, half_width: float) -> ComparedRun:
        part = RunPart({"kernel.time_us": time}, {"kernel.time_us": half_width})
        return ComparedRun("s", "", {"": part}, {})

    for other, distinct in ((102.0, False), (104.0, True)):
        (part,) = compare([sampled(100.0, 2.0), sampled(other, 1.0)]).parts
        assert part.distinct is distinct


def test_all_pairs_of_several_runs_are_compared_in_any_order(capsys: pytest.CaptureFixture[str]) -> None:
    """The first and the third cannot be told apart, the second differs from both: whatever is given last."""
    times = {"lru": (15.295, 0.176), "random": (14.899, 0.148), "plru": (15.267, 0.147)}

    def run(name: str) -> ComparedRun:
        time, width = times[name]
        return ComparedRun(name, "", {"": RunPart({"kernel.time_us": time}, {"kernel.time_us": width})}, {})

    for order in itertools.permutations(times):
        found = compare([run(name) for name in order])
        (part,) = found.parts
        apart = {frozenset((order[p.first], order[p.second])) for p in part.pairs if p.distinct}
        assert apart == {frozenset(("lru", "random")), frozenset(("plru", "random"))} and part.distinct
        text.show(found, sys.stdout)
        out = capsys.readouterr().out
        assert out.count("differ\n") == 2 and out.count("not distinguishable") == 1 and "15.29 ± 0.176 us" in out
    (pair,) = compare([run("lru"), run("random")]).parts[0].pairs
    assert pair.ratio is not None
    assert pair.ratio == pytest.approx((14.899 / 15.295, (0.148 + 0.176 * 14.899 / 15.295) / 15.295))
    assert text.document(found)["parts"][0]["pairs"][0].keys() == {"first", "second", "ratio", "distinct"}


def test_what_runs_decided_for_themselves_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    sides = [
        made(name, {"": {"kernel.time_us": 1.0 + n, "kernel.name": name}}, l2=n)
        for n, name in enumerate(("mmm_local", "sgemm", "sgemm"))
    ]
    found = compare(sides)
    assert found.parts[0].decided == {"kernel": ["mmm_local", "sgemm", "sgemm"]}
    text.show(found, sys.stdout)
    assert "decided by the runs themselves" in capsys.readouterr().out
    assert compare(sides[1:]).parts[0].decided == {}


def test_configurations_are_flat() -> None:
    assert list(metrics.leaves({"a": {"b": 1, "c": {"d": [1]}}, "e": None})) == [
        ("a.b", 1),
        ("a.c.d", [1]),
        ("e", None),
    ]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with StoreWriter(Path("gpusim.db"), fresh=True) as keeper:  # equal microbenchmarks, too
        for sib, cycles in ((4, 3000), (8, 1500)):
            facts = RunFacts.of(
                kernel={"name": "k", "cycles": cycles, "clock_ghz": 1.5},
                stalls={"memory_dependency": cycles, "issued": 500},
                roofline={"l2": 1000.0, "dram": 900.0},
            )
            records = [RunRecord(False, "k", [facts], variant=name) for name in ("dense", "sparse")]
            work = RunDescription("run", "layerB", {"engine": {"sib_kib": sib}}, (), "MI6")
            keeper.keep(work, build_outcome(records, ["dense", "sparse"], 0), RunClock())
        other = RunOutcome({"document": {"figures": [{"name": "lds.x", "value": 2.0, "unit": "cycles"}]}}, "done", 0)
        for number in range(2):
            figures = [{"name": "lds.x", "value": 2.0 + number, "unit": "cycles"}]
            values = [MetricSet([MetricValue("microbench.lds.x", "cycles", "d", 2.0)])]
            keeper.keep(
                RunDescription("microbench", "lds", {}, (), "MI6"),
                replace(other, content={"document": {"figures": figures}}, measured=values),
                RunClock(),
            )
    return tmp_path


def test_runs_names_parts_and_files_may_be_compared(store: Path, capfd: Any) -> None:
    assert invoke(["results", "name", "1", "base"]) == 0
    assert invoke(["results", "show", "2", "--json", "two.json"]) == 0
    for second in ("2", "two.json"):
        assert invoke(["compare", "base", second]) == 0
        out = capfd.readouterr().out
        assert "engine.sib_kib\t4\t8" in out
        assert "dense\t2\t1\t0.500" in out
        assert "wavefronts spend fewer cycles waiting for memory or LDS: 85.7 % → 42.9 %" in out
    assert invoke(["compare", "base:dense", "2:sparse", "--json", "-"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["parts"][0]["time_us"] == [2.0, 1.0]
    assert found["parts"][0]["why"][0][0]["topic"] in ("stall", "roofline")
    assert invoke(["compare", "3", "4"]) == 0
    assert "lds.x\t2\t3\t1.500\tcycles" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1"], "two runs or more"),
        (["1", "9"], "no run '9' in it; it has runs 1 to 4"),
        (["1", "1:dens"], "unknown part 'dens'; did you mean 'dense'?"),
        (["3", "4:nope"], "run 4: it has no parts, so none is called 'nope'"),
        (["1", "odd.json"], "odd.json: config: 3 is not allowed: must be a mapping of keys to values"),
        (["1", "none.json"], "none.json: there is no such file"),
        (["1", "bad.json"], "bad.json: is no JSON"),
        (["1", "empty.json"], "empty.json: holds no result"),
        (["1", "3"], "nothing in common"),
    ],
)
def test_what_cannot_be_compared_is_one_line(store: Path, capfd: Any, arguments: list[str], said: str) -> None:
    Path("bad.json").write_text("{")
    Path("empty.json").write_text("{}")
    Path("odd.json").write_text('{"figures": [], "config": 3}')
    assert invoke(["compare", *arguments]) == 2
    err = capfd.readouterr().err
    assert said in err and err.count("\n") == 1


def test_files_need_no_store(store: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("1", "2"):
        assert invoke(["results", "show", number, "--json", f"{number}.json"]) == 0
    Path("gpusim.db").unlink()
    assert invoke(["compare", "1.json", "2.json"]) == 0
    assert side("1.json:dense", Path("gpusim.db")).parts[""].metrics["kernel.cycles"] == 3000


def test_half_widths_are_read_beside_their_metrics(tmp_path: Path) -> None:
    kernel = {"time_us": 5.0, "time_us_half_width": 0.5, "cycles": 7500, "name": "k"}
    tree = {"kernel": kernel, "sampling": {"method": "windows", "reason": "", "confidence": 0.95}}
    (tmp_path / "a.json").write_text(json.dumps(result_of(tree)))
    part = side(str(tmp_path / "a.json"), tmp_path / "none.db").parts[""]
    assert part.half_widths == {"kernel.time_us": 0.5}
    assert part.metrics == {"kernel.time_us": 5.0, "kernel.cycles": 7500, "kernel.name": "k"}


def test_networks_are_compared_by_variant_layer_and_pass(tmp_path: Path) -> None:
    def body(cycles: int) -> dict[str, Any]:
        kernel = {"kernel": {"cycles": cycles, "name": "k"}}
        row = {"name": "conv1", "pass": "forward", "launches": 1, "metrics": kernel}
        return {**kernel, "rows": [row, {"name": "late", "pass": "forward", "launches": 1, "cycles": None}]}

    head = {name: network_of(conv1=QUIET)[name] for name in ("schema_version", "kind", "network", "phase", "batch")}
    head |= {"partial": False, "config": {"gpu": {"name": "g"}}}
    for name, document in (("off", head | body(1)), ("both", head | {"dense": body(2), "sparse": body(3)})):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    none = tmp_path / "none.db"
    assert list(side(str(tmp_path / "off.json"), none).parts) == ["all", "conv1 forward"]
    found = side(str(tmp_path / "both.json"), none)
    assert list(found.parts) == ["dense all", "dense conv1 forward", "sparse all", "sparse conv1 forward"]
    assert [part.metrics["kernel.cycles"] for part in found.parts.values()] == [2, 2, 3, 3]
    assert found.title == "tiny: training, batch 4"
    assert list(side(f"{tmp_path / 'both.json'}:sparse conv1 forward", none).parts) == [""]


def test_programs_are_compared_by_kernel(tmp_path: Path) -> None:
    for name, cycles in (("one", 100), ("two", 300)):
        rows = [
            {"name": "_Z3sumPKdPdi", "launches": 2, "timed": 2, "metrics": {"kernel": {"cycles": cycles, "name": "k"}}},
            {"name": "_Z5scalePKfPfi", "launches": 1, "timed": 0, "cycles": None},
        ]
        config = {"gpu": {"name": "g"}, "program": ["./p", name]}
        head = {"schema_version": 3, "kind": "hip", "partial": False, "exit_code": 0, "config": config}
        whole = {"kernel": {"cycles": cycles, "name": "k"}, "rows": rows}
        (tmp_path / f"{name}.json").write_text(json.dumps(head | whole))
    found = compare([side(str(tmp_path / f"{name}.json"), tmp_path / "none.db") for name in ("one", "two")])
    assert [part.name for part in found.parts] == ["all", "sum"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"schema_version": 3, "config": {}, "partial": False}, "kernel: is required but missing"),
        ({"schema_version": 3, "config": {}, "partial": False, "kernel": {"cycles": "many"}}, "kernel.cycles"),
        ({"schema_version": 9, "config": {}, "partial": False}, "has schema_version 9"),
        ({"schema_version": 3, "partial": False}, "is not a result"),
        ({"schema_version": 3, "config": {}, "partial": True, "kernel": {"cycles": 0}}, "nothing was finished"),
        ([1], "holds no result"),
    ],
)
def test_what_is_no_result_is_refused_by_its_name(tmp_path: Path, document: Any, said: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match=rf"^{path}: .*{said}"):
        side(str(path), tmp_path / "none.db")

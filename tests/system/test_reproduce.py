"""Does `gpusim reproduce` run a small publication, go on where it was, and draw what a folder has?"""

from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from gpusim.lab.papers.records import FILE, ReproductionResults, as_json, load
from tests.support.reproduction import INDEX, LAYER, made_up, written

ONE = f"""
kind: compared
title: Speed
source: Figure 1
cases: {{one: {{run: layerC, sets: {{workload.layer: {LAYER}}}}}}}
batches: [1]
data: {{half: {{workload.data: synthetic, workload.sparsity: 0.5}}}}
paths: [best, soft, engine]
normalized_to: best
claims:
  - {{name: faster, text: faster, own: a test asks, aggregation: each, measure: speedup, bound: {{above: 1}}}}
"""
QUESTION = """
question: Does it pay?
answers: [{claim: faster, holds: "It **does**: {found}.", does_not: "It does not: {found}."}]
"""
# weights of 9 MiB: with less memory not even a block of one image fits
LARGE = LAYER.replace("input_channels: 2", "input_channels: 512").replace("output_channels: 20", "output_channels: 512")
BROKEN = (
    ONE.replace("[best, soft, engine]", "[best, old]")
    .replace("batches: [1]", "batches: [2]")
    .replace(LAYER, LARGE)
    .replace("name: faster, ", "")
)


@pytest.fixture(name="file")
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path, INDEX.replace("[speed, cache, train, place]", "[speed]") + QUESTION, speed=ONE)


def test_it_runs_what_is_missing_and_writes_the_folder(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["reproduce", str(file), "--exact", "--jobs", "1", "--html", "one.html"]) == 0
    printed = capfd.readouterr()
    assert "3 of 3 points: 3 ran, 0 were there" in printed.err
    assert "Does it pay?\ncase\tbatch\tdata\tbest dense\t" in printed.out, "the table that decides comes first"
    assert "\teach: speedup > 1\n" in printed.out, "the comparison has its rules"
    page = Path("one.html").read_text()
    assert page.count("<svg") == 1 and "each: speedup &gt; 1" in page and "src=" not in page
    assert 'href="#claims">claims</a>' in page and 'id="claims">Claims</h2>' in page
    files = {path.name: path.read_bytes() for path in Path("test").glob("*.*") if path.suffix != ".yaml"}
    assert {"README.md", "claims.md", "results.json", "speed.csv", "speed.svg"} <= set(files)
    assert b"not run" not in files["claims.md"]
    for name in files:
        if name != "results.json":
            Path("test", name).unlink()
    assert invoke(["reproduce", str(file), "--draw"]) == 0
    assert {path.name: path.read_bytes() for path in Path("test").glob("*.*") if path.suffix != ".yaml"} == files
    capfd.readouterr()
    assert invoke(["reproduce", str(file)]) == 0, "sampled: a store's runs in whole are to change no digit"
    assert "3 of 3 points: 3 ran, 0 were there" in capfd.readouterr().err


def test_the_list_says_what_it_may_cost(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--list", "--estimate"):
        assert invoke(["reproduce", str(file), option]) == 0
        said = capsys.readouterr().out.splitlines()
        assert said[1].startswith("speed\t3\t3\t") and said[2].startswith("all, what is equal once\t3\t3\t")
        assert "nothing was run" in said[-1] and not Path("gpusim.db").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["spartn"], "no such configuration file; did you mean 'spartan'"),
        (["spartan", "--only", "6.61"], "--only 6.61: unknown figure '6.61'; did you mean '6.1'"),
        (["layerA"], "is a run, not a publication to reproduce: use gpusim run"),
        (["spartan", "--draw", "--out", "empty"], "results.json: cannot be read"),
    ],
)
def test_what_cannot_be_is_one_line(
    file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert invoke(["reproduce", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and len(said.splitlines()) == 1


def test_a_point_that_does_not_fit_is_named_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    index = INDEX.replace("[speed, cache, train, place]", "[speed, cache]")
    index = index.replace("dense_data:", "sets: {gpu.memory_mib: 8}\ndense_data:")
    path = written(tmp_path, index, speed=ONE, cache=BROKEN)
    assert invoke(["reproduce", str(path), "--jobs", "1"]) == 1
    assert "failed: one 2 any old: " in (said := capfd.readouterr().err) and "3 ran" in said
    page = Path("test/README.md").read_text()
    assert "- one 2 any old: " in page and "no: " in page


def test_points_of_figures_that_are_not_asked_for_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, INDEX.replace("[speed, cache, train, place]", "[speed, cache]"), speed=ONE)
    mine, others = "one 1 any best", "one 1 any old"
    known = ReproductionResults("test", {mine: made_up(1), others: made_up(7), "of no figure": made_up(1)})
    Path("test", FILE).write_text(as_json(known))
    assert invoke(["reproduce", str(path), "--only", "speed", "--exact", "--jobs", "1"]) == 0
    found = load(Path("test"), "test").points
    assert set(found) == {mine, others, "one 1 half soft", "one 1 half engine"}
    assert found[others] == made_up(7) and found[mine].metrics["kernel.cycles"] > 100, "what ran now is new"
    Path("test", FILE).write_text("{}")
    assert invoke(["reproduce", str(path), "--only", "speed"]) == 2
    assert "results.json: schema: is required but missing" in capfd.readouterr().err

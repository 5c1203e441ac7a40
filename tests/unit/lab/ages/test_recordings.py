"""Are the shipped recordings read with their versions, and written with them?"""

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.cli.main import invoke
from gpusim.cli.options import shares
from gpusim.jobs.estimates.cost import Rates
from gpusim.jobs.estimates.fitted import load_fitted
from gpusim.lab.ages import commands
from gpusim.lab.ages.commands import LEDGER, FileRecording, read_json, stamp_files
from gpusim.lab.ages.publications import COUNTED, PublicationRecording, counted_seconds, list_digits
from gpusim.lab.ages.recording import RenewalOptions
from gpusim.lab.ages.registry import list_recordings, select_recordings
from gpusim.lab.checks.sampling.generated_views import generated_document
from gpusim.lab.checks.sampling.measure import read_outcomes
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import load
from gpusim.lab.silicon.report import serialize_versions
from gpusim.lab.versions.model import RESULTS, name_model, present_model, present_version
from gpusim.lab.versions.recorded import parse_models
from gpusim.results.report.document import as_json


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one file, and one suite of sampling."""
    (tmp_path / "sampling").mkdir()
    shutil.copyfile(RESULTS / "sampling" / "few.json", tmp_path / "sampling" / "few.json")
    ledger = read_json(RESULTS / LEDGER)
    name = "networks/alexnet.md"
    (tmp_path / LEDGER).write_text(json.dumps({**ledger, "models": {}, "files": {name: ledger["files"][name]}}))
    return tmp_path


def test_recordings_are_found_in_reading_order(folder: Path) -> None:
    assert list(list_recordings(folder)) == ["networks/alexnet.md", "sampling/few"]
    with pytest.raises(UserError, match=r"unknown recording 'sampling/fwe'.*did you mean 'sampling/few'"):
        select_recordings(folder, ["sampling/fwe"])


def test_a_folder_without_results_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["reproduce", "--stale", "--results", str(tmp_path)]) == 2
    assert f"{tmp_path}: has no recorded results" in capsys.readouterr().err


def test_what_is_old_is_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = read_json(folder / LEDGER)
    ledger["files"]["networks/alexnet.md"]["version"] = {}
    (folder / LEDGER).write_text(json.dumps(ledger), encoding="utf-8")
    suite = read_json(folder / "sampling" / "few.json")
    for case in suite["cases"]:
        case["version"] = {}
    (folder / "sampling" / "few.json").write_text(json.dumps(suite), encoding="utf-8")
    cases = len(suite["cases"])
    assert invoke(["reproduce", "--stale", "--results", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{cases + 1} of {cases + 1} recorded figures are old" in lines
    stamp_files(folder, {"networks/alexnet.md": 12.34})
    assert invoke(["reproduce", "--stale", "--results", str(folder)]) == 0
    assert f"{cases} of {cases + 1} recorded figures are old" in capsys.readouterr().out.splitlines()


def test_all_kinds_of_recordings_are_one_long_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger, row = read_json(folder / LEDGER), read_json(RESULTS / LEDGER)["files"]["microbenchmarks/mi6.md"]
    ledger["files"]["microbenchmarks/mi6.md"] = row
    (folder / LEDGER).write_text(json.dumps(ledger))
    for name in ("microbenchmarks/mi6.md", "correlation/mi200-dgemm.json", "dnnmark/results.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(RESULTS / name, folder / name)
    stamp_files(folder, {"microbenchmarks/mi6.md": None})
    assert invoke(["reproduce", "--table", str(folder / "all.csv"), "--results", str(folder)]) == 0
    with (folder / "all.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["publication", "figure", "labels", "measure", "value", "half-width", "version"]
    values = {(r["publication"], r["labels"], r["measure"]): float(r["value"]) for r in rows}
    widths = {(r["publication"], r["labels"], r["measure"]): r["half-width"] for r in rows}
    case = next(case for case in read_outcomes(folder / "sampling" / "few.json") if case.is_sampled)
    assert values["sampling/few", f"case={case.name}", "error"] == case.error
    assert float(widths["sampling/few", f"case={case.name}", "error"]) == case.half_width
    page = (RESULTS / "microbenchmarks" / "mi6.md").read_text(encoding="utf-8")
    cycles = values["microbenchmarks/mi6.md", "unit=cycles", "scalar load that hits L2"]
    assert re.search(rf"\| scalar load that hits L2 +\| +{cycles:.0f} +\|", page)
    assert {r["version"] for r in rows if r["publication"] == "microbenchmarks/mi6.md"} == {name_model(present_model())}
    times = {
        m: values["correlation/mi200-dgemm", "row=NN 20096x16x16", m] for m in ("modelled_us", "measured_us", "ratio")
    }
    assert times["modelled_us"] / times["measured_us"] == pytest.approx(times["ratio"])
    publication = Publication(load_reproduction("dnnmark"), load(folder / "dnnmark", "dnnmark"))
    shown = {(name, value.measure, value.value) for name, own in publication.long_table.items() for value in own}
    assert shown and shown <= {(r["figure"], r["measure"], float(r["value"])) for r in rows}
    assert invoke(["reproduce", "--table", "all.txt", "--results", str(folder)]) == 2
    assert "--table all.txt: must end in .csv, .json, .parquet" in capsys.readouterr().err


def test_a_stamp_is_the_present_model_and_what_it_took(folder: Path) -> None:
    ledger = read_json(folder / LEDGER)
    ledger["files"]["networks/alexnet.md"]["estimated"] = True
    (folder / LEDGER).write_text(json.dumps(ledger), encoding="utf-8")
    assert list_recordings(folder)["networks/alexnet.md"].figures()["networks/alexnet.md"].is_estimated
    stamp_files(folder, {"networks/alexnet.md": 12.34})
    ledger = read_json(folder / LEDGER)
    row = ledger["files"]["networks/alexnet.md"]
    assert parse_models(ledger["models"])[row["version"]["model"]] == present_model()
    assert row["seconds"] == 12.3 and "estimated" not in row
    with pytest.raises(UserError, match=r"versions.json: has no file networks/gone.md"):
        stamp_files(folder, {"networks/gone.md": None})


def test_a_file_is_made_where_its_command_writes_alone(folder: Path) -> None:
    recording = list_recordings(folder)["networks/alexnet.md"]
    assert isinstance(recording, FileRecording)
    assert recording.obstacle == ".ci/networks alexnet writes into the repository's results alone"
    assert list_recordings(RESULTS)["networks/alexnet.md"].obstacle == ""


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["reproduce"], "PUBLICATION: is missing"),
        (["reproduce", "--stale", "--renew", "1"], "--stale and --renew: one of them at a time"),
        (["reproduce", "bcmm", "--stale"], "unknown recording 'bcmm'"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(arguments) == 2
    assert problem in capsys.readouterr().err


def test_digits_of_a_network_s_run_are_by_row() -> None:
    run = load(RESULTS / "training-phase", "training-phase").networks["lenet 256 mi6 batched"]
    digits = list_digits(run)
    rows = {" ".join((row.by, row.layer, row.kind, row.part)): row for row in run.rows}
    assert digits.keys() == {"fraction", "launches", *rows} and len(rows) == len(run.rows)
    assert digits["network   all"]["kernel.time_us"] == rows["network   all"].metrics["kernel.time_us"]


def test_a_run_costs_what_its_counted_work_takes_where_that_is_less() -> None:
    """Of a product by its own metrics, of a network by the row of all its passes."""
    rates = Rates(1.0, 1e-8, 1e-6, 1e-5, 6.5, 1e8)
    product = next(iter(load(RESULTS / "matrix-cores", "matrix-cores").points.values()))
    networks = load(RESULTS / "dnnmark", "dnnmark").networks
    network = next(iter(networks.values()))
    for run, total in ((product, product.metrics), (network, network.iteration.metrics)):
        instructions, lines, dram_bytes = (total[path] for path in COUNTED)
        work = run.fraction * (1e-8 * instructions + 1e-6 * lines + 1e-5 * dram_bytes / 64)
        assert counted_seconds(run, rates) == pytest.approx(1.0 + len(run.launches) + work)
    listed = PublicationRecording("dnnmark", RESULTS, "dnnmark").figures()
    for key, figure in listed.items():
        assert figure.seconds == min(networks[key].seconds, counted_seconds(networks[key], load_fitted().rates))


def test_cases_are_run_with_their_suite_s_own_bars(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[tuple[str, ...]]()
    monkeypatch.setattr(commands, "run_command", lambda *arguments: calls.append(arguments))
    recording = list_recordings(folder)["sampling/few"]
    key = next(iter(recording.figures()))
    recording.renew([key], RenewalOptions(store=folder / "s.db", jobs=1, reporter=Reporter(quiet=True)))
    (call,) = calls
    given = {name: call[call.index(f"--{name}") + 1] for name in ("only", "error", "confidence")}
    sampling = read_json(folder / "sampling" / "few.json")["sampling"]
    assert given.pop("only") == key
    assert shares(**given) == pytest.approx({name: sampling[name] for name in given})


def test_launches_of_a_seed_are_run_again_with_their_errors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[tuple[str, ...]]()
    monkeypatch.setattr(commands, "run_command", lambda *arguments: calls.append(arguments))
    (case, *_) = read_outcomes(folder / "sampling" / "few.json")
    rows = [
        replace(case, name=f"mi6 banks {seed}-{number}, {error:.0%}", seed=seed, asked=error)
        for seed, number, error in ((7, 5, 0.01), (7, 5, 0.03), (7, 14, 0.01), (8, 5, 0.01))
    ]
    (folder / "sampling" / "generated.json").write_text(as_json(generated_document(rows, 0.9)))
    recording = list_recordings(folder)["sampling/generated"]
    options = RenewalOptions(store=folder / "s.db", jobs=1, reporter=Reporter(quiet=True))
    recording.renew([rows[0].name, rows[1].name], options)
    assert calls == [(
        "check-sampling", "generated", "--seed", "7", "--launches", "15", "--scale", "1", "--only", "mi6 banks 7-5",
        "--error", "1%", "--error", "3%", "--confidence", "90%", "--json", str(folder / "sampling" / "generated.json"),
        "--jobs", "1", "--quiet",
    )]  # fmt: skip


def test_rows_of_a_correlation_are_put_in_the_place_of_those_that_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "correlation/rocblas-r9nano-exact"
    (tmp_path / "correlation").mkdir()
    shutil.copyfile(RESULTS / f"{name}.json", tmp_path / f"{name}.json")
    recording = list_recordings(tmp_path)[name]
    first, *others = recording.figures().values()

    def run(*arguments: str) -> None:
        assert arguments[:3] == ("correlate", "rocblas-r9nano", "--exact") and first.key in arguments
        data = read_json(RESULTS / f"{name}.json")
        data["rows"] = [row for row in data["rows"] if row["name"] == first.key]
        data["rows"][0]["point"]["kernels_us"] += 1.0
        data |= serialize_versions({first.key: present_version()})
        Path(arguments[arguments.index("--json") + 1]).write_text(json.dumps(data), encoding="utf-8")

    monkeypatch.setattr(commands, "run_command", run)
    recording.renew([first.key], RenewalOptions(store=tmp_path / "s.db", jobs=1, reporter=Reporter(quiet=True)))
    made = recording.figures()
    assert made[first.key].version == present_version()
    assert made[first.key].digits["kernels_us"] == pytest.approx(first.digits["kernels_us"] + 1.0)
    assert [made[one.key] for one in others] == others and list(made) == [first.key, *(one.key for one in others)]


@pytest.mark.parametrize("name", ["networks/alexnet.md", "sampling/few", "dnnmark", "correlation/rocblas-r9nano-exact"])
def test_a_stamp_moves_the_version_of_a_figure_and_nothing_else(folder: Path, name: str) -> None:
    for file in list_recordings(RESULTS)[name].files:
        (folder / file.relative_to(RESULTS)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / file.relative_to(RESULTS))
    recording = list_recordings(folder)[name]
    key, *_ = before = recording.figures()
    version = present_version("gfx803")
    recording.stamp({key: version})
    after = list_recordings(folder)[name].figures()
    assert after == {**before, key: replace(before[key], version=version)}

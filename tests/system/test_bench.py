"""Does every benchmark case give the right result and the counts it reports, and does a slow-down show?"""

import json
from pathlib import Path

import pytest

from docs._site import bench_pairs
from gpusim.cli.main import invoke
from gpusim.lab.checks.bench import bench
from gpusim.lab.checks.bench.cases import CASES, BenchCase, BenchLaunch
from gpusim.lab.cli import bench as command

ROOT = Path(__file__).resolve().parents[2]
ROOFLINES = {"valu", "salu", "lds", "l1", "l2", "dram"}
NAMES = [case.name for case in CASES]


@pytest.fixture(scope="module")
def config():  # type: ignore[no-untyped-def]
    return bench.load([])


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_case_at_a_small_size(case: BenchCase, config) -> None:  # type: ignore[no-untyped-def]
    result = bench.measure(case, config, repeat=2, small=True)
    assert (result.case, result.bound) == (case.name, case.bound)
    assert result.instructions > 0 and result.l1_lines > 0 and result.cycles > 0
    assert result.instructions_per_s == pytest.approx(result.instructions / result.cpu_s)
    assert result.l1_lines_per_s == pytest.approx(result.l1_lines / result.cpu_s)
    assert set(result.roofline) >= ROOFLINES


def test_speeds_by_the_fixed_base_are_recorded_for_every_case() -> None:
    recorded = json.loads((ROOT / "results/speed.json").read_text(encoding="utf-8"))["speed"]
    assert {gpu: list(speeds) for gpu, speeds in recorded.items()} == dict.fromkeys(["r9nano", "mi6"], NAMES)


def test_the_drift_of_a_speed_is_printed() -> None:
    row = ["`relu`", "50.0, 62.5", "1.250", "1.2", "1.2", "8374"]
    assert bench_pairs.speeds([row]) == {"relu": 0.8}
    table = bench_pairs.drift_table({"relu": 1.0}, {"relu": 0.8, "transpose": 1.1})
    assert table.splitlines()[2:] == [
        "| `relu` | 1.000 | 0.800 | -20.0 % |",
        "| `transpose` |  | 1.100 | not recorded |",
    ]


def test_names_differ_and_bounds_cover_the_machine() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert NAMES[0] == "sgemm_4x4"
    assert {case.bound for case in CASES} >= {"valu", "lds", "l1", "l2", "dram"}
    assert {case.bound for case in CASES} <= ROOFLINES | {"latency"}


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_result_that_was_not_computed_is_found(case: BenchCase, config) -> None:  # type: ignore[no-untyped-def]
    assert case.build(config, case.small).wrong() is not None


def test_a_wrong_result_ends_the_benchmark(config, capfd, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    case = CASES[NAMES.index("relu")]

    def build(config, size):  # type: ignore[no-untyped-def]
        return BenchLaunch(case.build(config, size).launch, lambda: "one element is wrong")

    false = BenchCase(case.name, case.bound, case.what, build, case.small, case.small)
    monkeypatch.setattr(bench, "CASES", (false,))
    assert invoke(["bench", "--history", str(tmp_path / "history.jsonl")]) == 1
    assert "relu: the result is wrong: one element is wrong" in capfd.readouterr().err


def _small_cases(monkeypatch: pytest.MonkeyPatch, *names: str, bound: str = "latency") -> None:
    """Let the command measure cases at sizes at which nothing but latency bounds them."""
    small = [case for case in CASES if case.name in names]
    cases = tuple(BenchCase(c.name, bound, c.what, c.build, c.small, c.small) for c in small)
    monkeypatch.setattr(bench, "CASES", cases)


def test_history_has_an_object_a_case_and_comparison_is_with_the_last(monkeypatch, capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    _small_cases(monkeypatch, "vector_add", "lds_links")
    history = tmp_path / "history.jsonl"
    arguments = ["bench", "--history", str(history)]
    assert invoke(arguments) == 0
    first = capfd.readouterr().out
    assert "vector_add (latency)" in first and "lds_links (latency)" in first and "against" not in first
    assert invoke([*arguments, "--only", "vector_add"]) == 0
    second = capfd.readouterr().out
    assert "lds_links" not in second and "against" in second and "(1 earlier)" in second
    entries = [json.loads(line) for line in history.read_text().splitlines()]
    assert [entry["case"] for entry in entries] == ["lds_links", "vector_add", "vector_add"]
    entries[-1]["instructions_per_s"] *= 100
    history.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert invoke([*arguments, "--fail-below", "50"]) == 1
    captured = capfd.readouterr()
    assert "% speed (2 earlier)" in captured.out
    assert captured.err == "gpusim: vector_add has become slower by more than 50 %\n"


def test_a_case_that_is_bound_by_something_else_is_told(monkeypatch, capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    _small_cases(monkeypatch, "relu", bound="lds")
    assert invoke(["bench", "--history", str(tmp_path / "h.jsonl")]) == 1
    assert "relu is a case of the bound 'lds', but bound by latency" in capfd.readouterr().err
    # another machine may be bound elsewhere
    assert invoke(["bench", "--history", str(tmp_path / "h.jsonl"), "--set", "gpu.cus_per_array=2"]) == 0


def test_the_folder_of_the_default_history_is_made(monkeypatch, capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    _small_cases(monkeypatch, "vector_add")
    data = tmp_path / "share" / "gpusim"
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(data))
    for measured in (1, 2):
        assert invoke(["bench"]) == 0
        assert len(bench.read_history(data / "bench.jsonl")) == measured
    assert f"added to {data / 'bench.jsonl'}" in capfd.readouterr().out


def test_a_default_history_that_cannot_be_written_is_said(monkeypatch, capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    _small_cases(monkeypatch, "vector_add")
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "file" / "gpusim"))
    assert invoke(["bench"]) == 2
    assert "gpusim/bench.jsonl: cannot be written: " in capfd.readouterr().err


def test_a_history_in_a_folder_that_is_not_there_is_refused_before_measuring(capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["bench", "--history", str(tmp_path / "new" / "h.jsonl")]) == 2
    assert "new does not exist" in capfd.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--only", "relo"], "unknown benchmark 'relo'; did you mean 'relu'"),
        (["--repeat", "0"], "--repeat: 0"),
        (["--repeat", "two"], "--repeat"),
        (["--fail-below", "100"], "--fail-below: 100"),
        (["--set", "gpu.l2.sise_kib=1"], "did you mean 'size_kib'"),
    ],
)
def test_bad_input(arguments: list[str], part: str, capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["bench", "--history", str(tmp_path / "h.jsonl"), *arguments]) == 2
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and part in captured.err
    assert not (tmp_path / "h.jsonl").exists()


@pytest.mark.parametrize("text", ["no json", '{"date": "2026-01-01"}', "[1]"])
def test_a_file_that_is_no_history_is_left_alone(text: str, capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "notes.txt"
    path.write_text(text)
    assert invoke(["bench", "--history", str(path)]) == 2
    assert "is no benchmark history" in capfd.readouterr().err
    assert path.read_text() == text


def test_measurements_of_before_there_were_cases_still_compare(config) -> None:  # type: ignore[no-untyped-def]
    result = bench.measure(CASES[0], config, small=True)
    old = {
        "date": "2026-01-01T00:00:00",
        "machine": result.machine,
        "kernel": "sgemm_4x4",
        "instructions": result.instructions,
        "instructions_per_s": result.instructions_per_s / 2,
    }
    elsewhere = {**old, "machine": "another"}
    other_work = {**old, "instructions": 1}
    assert bench.comparable([elsewhere, old, other_work], result) == [old]
    assert bench.change_percent(old, result) == pytest.approx(100.0)
    assert "+100.0 % speed (1 earlier)" in command.lines(result, [old])[-1]


def test_list(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["bench", "--list"]) == 0
    assert [line.split()[0] for line in capfd.readouterr().out.splitlines()] == NAMES


def test_perf_map_names_the_cores_functions(monkeypatch, capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    _small_cases(monkeypatch, "relu")
    assert invoke(["bench", "--history", str(tmp_path / "h.jsonl"), "--perf-map"]) == 0
    line = next(line for line in capfd.readouterr().out.splitlines() if line.startswith("functions of the core: "))
    names = {entry.split()[2] for entry in Path(line.partition(": ")[2]).read_text().splitlines()}
    assert {"gpusim.model.core.loop.run_cycles", "memory.dram.advance.advance"} <= names

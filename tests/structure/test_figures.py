"""Are the figures in the documentation those of the files and pages that they come from?"""

import csv
import re
from pathlib import Path

import pytest

from tests.support import energy_pages, report_page, sparse_kernels
from tests.support.figures import DOCS, PAGES, SLOW, section
from tests.support.monitor_pages import COUNTED


@pytest.mark.parametrize("name", sorted(PAGES["activations"]))
def test_the_maps_tables_are_the_files_s(name: str) -> None:
    page = (DOCS / "activations.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["activations"][name](), "run .ci/generate"


def test_what_is_said_of_the_model_is_what_its_result_says() -> None:
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    assert section(page, "held to silicon") == PAGES["README"]["held to silicon"](), "run .ci/generate"


@pytest.mark.parametrize("name", sorted(PAGES["networks"]))
def test_the_networks_tables_are_counted(name: str) -> None:
    page = (DOCS / "networks.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["networks"][name](), "run .ci/generate"


@pytest.mark.generated
@pytest.mark.parametrize("name", ["sections", "rules"])
def test_the_report_s_tables_are_those_of_the_code(name: str) -> None:
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    assert section(page, name) == getattr(report_page, name)(), "run python -m tests.support.report_page"


@pytest.mark.parametrize("name", COUNTED)
def test_the_monitor_s_tables_are_counted(name: str) -> None:
    page = (DOCS / "monitor.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["monitor"][name](), "run .ci/generate"


@pytest.mark.parametrize("name", energy_pages.COUNTED)
def test_the_energies_are_counted(name: str) -> None:
    page = (DOCS / "energy.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["energy"][name](), "run .ci/generate"


@pytest.mark.parametrize("name", sorted(PAGES["training"]))
def test_the_trainings_tables_are_simulated(name: str) -> None:
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["training"][name](), "run python -m tests.support.figures training"


@pytest.mark.parametrize("name", sparse_kernels.SWEPT)
def test_the_sparse_gains_are_the_sweep_s(name: str) -> None:
    page = (DOCS / "kernels.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["kernels"][name](), f"run python -m tests.support.figures 'kernels:{name}'"


@pytest.mark.parametrize("name", sorted(PAGES["sampling"].keys() - {"rounds"}))  # which looks at each launch
def test_what_sampling_saves_and_costs_is_what_the_runs_say(name: str) -> None:
    page = (DOCS / "sampling.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["sampling"][name](), "run python -m tests.support.figures sampling"


@pytest.mark.parametrize(
    ("cycles", "said"), [((200, 120, 40), "49 %"), ((100, 50, 20), "below 40 %"), ((300, 250, 200), "none")]
)
def test_break_even_is_between_the_points_around_it(cycles: tuple[float, ...], said: str) -> None:
    assert sparse_kernels.break_even((0.4, 0.5, 0.6), cycles, dense=130) == said


def _spartan(table: str) -> list[dict[str, str]]:
    """Of a table of docs/spartan, layers A to C at batch 128 with real data."""
    with (DOCS / "spartan" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if (row["batch"], row["data"]) == ("128", "real")]


def test_the_sparse_gains_are_over_the_same_dense_kernel_as_the_evaluation_s() -> None:
    evaluated = {row["case"]: int(row["best dense"]) for row in _spartan("6.16-cycles")}
    for layer, points in sparse_kernels.gains_points().items():
        assert {int(dense["kernel.cycles"]) for dense, _ in points} == {evaluated[layer]}
        assert {dense["state"] for pair in points for dense in pair} == {"done"}


def test_what_the_page_of_all_pages_says_of_the_engine_is_evaluated() -> None:
    page = " ".join((DOCS / "README.md").read_text(encoding="utf-8").split())
    three = r"is ([\d.]+), ([\d.]+) and ([\d.]+) times"
    said = re.search(rf"{three} as fast as the best dense matrix kernel, ([\d.]+) in the mean", page)
    without = re.search(rf"The same without an engine, converted by a kernel, {three}", page)
    assert said is not None and without is not None
    found = [float(row["engine"]) for row in _spartan("6.16")]
    assert list(said.groups()) == [f"{each:.2f}" for each in (*found, sum(found) / len(found))]
    assert list(without.groups()) == [f"{float(row['sparse in software']):.2f}" for row in _spartan("6.16")]


@pytest.mark.parametrize("page", [*PAGES, *SLOW])
def test_every_page_has_its_sections_once(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert all(section(text, name) for name in {**PAGES, **SLOW}[page])


def measured(gpu: str) -> dict[tuple[str, str], float]:
    """(what, unit) → figure, of the generated page of microbenchmarks."""
    rows = re.findall(r"^\| (.+?) \| ([\d.]+) \| (.+?) \|", _page(f"microbenchmarks/{gpu}"), re.MULTILINE)
    return {(what, unit): float(value) for what, value, unit in rows}


def _page(name: str) -> str:
    return Path(DOCS, f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("gpu", "what", "unit", "said"),
    [
        ("mi6", "vector load from DRAM, working set of twice L2", "ns", r"(\d+) ns \(MI6\)"),
        ("mi6", "L2 reads", "B/cycle/channel", r"two \(shipped\)\*\* \| \*\*([\d.]+)\*\*"),
        ("r9nano", "L2 reads", "B/cycle/channel", r"two \(shipped\)\*\* \| \*\*[\d.]+\*\* \| \*\*([\d.]+)\*\*"),
        ("mi6", "DRAM reads", "% of pins", r"\*\*DRAM reads\*\* reach (\d+) % \(MI6\)"),
        ("r9nano", "DRAM reads", "% of pins", r"\*\*DRAM reads\*\* reach \d+ % \(MI6\) and (\d+) % \(R9 Nano\)"),
        ("mi6", "v_fma_f32, dependent; one wavefront", "cycles/instruction", r"`v_fma_f32` \| (\d+) cycles"),
    ],
)
def test_what_is_said_of_microbenchmarks_is_measured(gpu: str, what: str, unit: str, said: str) -> None:
    found = re.search(said, " ".join(_page("microbenchmarks").split()))
    assert found is not None
    assert abs(float(found[1]) - measured(gpu)[what, unit]) <= 0.5


def test_the_answers_on_transformers_are_the_publication_s() -> None:
    page = (DOCS / "spartan/transformers.md").read_text(encoding="utf-8")
    made = PAGES["spartan/transformers"]["answers"]()
    assert section(page, "answers") == made, "run python -m tests.support.figures spartan/transformers"

"""Are the figures in the documentation those of the files and pages that they come from?"""

import re
from pathlib import Path

import pytest

from tests.support import energy_pages, report_page
from tests.support.figures import DOCS, PAGES, SLOW, section
from tests.support.monitor_pages import COUNTED


@pytest.mark.parametrize("name", sorted(PAGES["activations"]))
def test_the_maps_tables_are_the_files_s(name: str) -> None:
    page = (DOCS / "activations.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["activations"][name](), "run .ci/generate"


@pytest.mark.parametrize("name", sorted(PAGES["networks"]))
def test_the_networks_tables_are_counted(name: str) -> None:
    page = (DOCS / "networks.md").read_text(encoding="utf-8")
    assert section(page, name) == PAGES["networks"][name](), "run .ci/generate"


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
        ("mi6", "L2 reads", "B/cycle/channel", r"(\d+) \(MI6\) and \d+ \(R9 Nano\) bytes a cycle and channel"),
        ("r9nano", "L2 reads", "B/cycle/channel", r"\d+ \(MI6\) and (\d+) \(R9 Nano\) bytes a cycle and channel"),
        ("mi6", "DRAM reads", "% of pins", r"\*\*DRAM reads\*\* reach (\d+) % \(MI6\)"),
        ("r9nano", "DRAM reads", "% of pins", r"\*\*DRAM reads\*\* reach \d+ % \(MI6\) and (\d+) % \(R9 Nano\)"),
        ("mi6", "v_fma_f32, dependent; one wavefront", "cycles/instruction", r"`v_fma_f32` \| (\d+) cycles"),
    ],
)
def test_what_is_said_of_microbenchmarks_is_measured(gpu: str, what: str, unit: str, said: str) -> None:
    found = re.search(said, " ".join(_page("microbenchmarks").split()))
    assert found is not None
    assert abs(float(found[1]) - measured(gpu)[what, unit]) <= 0.5

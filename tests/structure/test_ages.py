"""Does every page say how old its figures are, and has every recorded figure an age?

No test compares with the sources: each commit to the model would make 190 pages false. A page's note names the model
that it was compared with, and has to follow from what is recorded of that.
"""

from collections.abc import Mapping
from functools import cache

import pytest

from docs._site import ages
from docs._site.pages import DOCS, RESULTS, section
from docs._site.sections import BUILT, STORED
from gpusim.lab.ages.commands import file_names
from gpusim.lab.ages.recording import RecordedFigure
from gpusim.lab.ages.registry import EXTRAPOLATED, READ_FIRST, list_recordings
from gpusim.lab.versions.age import FigureAge

# what is recorded in results, and is no figure of the model: why
NO_FIGURES = {
    "bcm/launch-costs.json": "processor seconds of a host",
    "sampling/earlier/addresses.json": "an earlier version of sampling, which nothing renews",
    "sampling/earlier/suite.csv": "an earlier version of sampling, which nothing renews",
    "sampling/savings.csv": "processor seconds of a host, and what two models simulated for them, which it names",
    "llm.json": "programs of others, which llm.md names with their versions",
    "vendor-tests.json": "which of AMD's tests pass",
    "python-tests.json": "which tests of Python projects pass",
    "speed.json": "the simulator's speed on a host",
    "versions.json": "the ledger itself",
    "equivalences.json": "declared equivalences",
}
# pages with tables of the site's build that come from no recorded figure: why
COUNTED = {
    "explanation/activations": "zeros of stored maps",
    "explanation/energy": "what a specification says of energy and area",
    "how-to/monitor": "curves of others",
    "how-to/report": "a list of sections, and of rules",
    "how-to/stored-results": "a list of rules",
    "how-to/training": "published numbers",
    "reference/dram": "the standards' tables",
    "reference/networks": "layers and their shapes",
}


# pages whose notes need the plans of most publications' runs: a few seconds, at night and in `.ci/generate --check`
OF_PUBLICATIONS = ("README", "explanation/block-circulant", "results/publications")


@cache
def figures_of(recording: str) -> Mapping[str, RecordedFigure]:
    return list_recordings(RESULTS)[recording].figures()


def of_page(page: str) -> Mapping[str, Mapping[str, RecordedFigure]]:
    """The figures of the recordings that a page is made of."""
    names = ages.ages_of_page(page, {name: {} for name in list_recordings(RESULTS)})
    return {name: figures_of(name) for name in names}


@pytest.mark.generated
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.nightly] if page in OF_PUBLICATIONS else []) for page in ages.pages()],
)
def test_a_page_s_note_follows_from_what_is_recorded(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m docs._site.ages` writes the notes."""
    monkeypatch.setattr(ages, "recorded_figures", lambda: of_page(page))  # of all pages it takes ten seconds
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert section(text, ages.NAME) == ages.written_note(page)
    assert text.index(f"<!-- {ages.NAME} -->") < text.find("\n## ") % len(text), "at its head"


@pytest.mark.generated
@pytest.mark.parametrize("name", ages.recorded_pages())
def test_a_recorded_page_s_note_follows_from_what_is_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ages, "recorded_figures", lambda: {name: figures_of(name)})
    assert section((RESULTS / name).read_text(encoding="utf-8"), ages.NAME) == ages.written_file_note(name)


@pytest.mark.nightly
def test_the_notes_read_the_figures_of_all_recordings() -> None:
    assert ages.recorded_figures() == {name: figures_of(name) for name in list_recordings(RESULTS)}


def test_every_page_with_tables_of_figures_has_a_note() -> None:
    assert {*BUILT, *STORED} - set(ages.pages()) == {page for page in COUNTED if page not in STORED}
    assert {name for name in file_names(RESULTS) if name.startswith("docs/")} == {
        f"docs/{page}.md:{name}" for page, sections in STORED.items() for name in sections
    }


def test_every_pattern_of_a_page_s_recordings_has_some() -> None:
    recordings = list_recordings(RESULTS)
    for page, patterns in ages.MADE_OF.items():
        for pattern in patterns:
            assert any(ages.fnmatch(name, pattern) for name in recordings), f"{page}: {pattern}"
    assert set(READ_FIRST) <= set(recordings)


def test_every_recorded_file_belongs_to_a_recording() -> None:
    recorded = {path for recording in list_recordings(RESULTS).values() for path in recording.files}
    others = [path for path in RESULTS.rglob("*") if path.is_file() and path not in recorded]
    names = {path.relative_to(RESULTS).as_posix() for path in others if path.suffix not in (".svg", ".png")}
    assert {name for name in names if not name.endswith(f"{EXTRAPOLATED}.json")} <= NO_FIGURES.keys()


OLD, UNKNOWN, NEW = FigureAge("b", ("core",)), FigureAge("", None), FigureAge("a", ())


def test_a_note_counts_what_is_old_by_recording_and_model() -> None:
    text = ages.note({"bcm": {"1": OLD, "2": NEW}, "docs/results/kernels.md:dense": {"x": UNKNOWN}}, "a")
    assert " ".join(line.removeprefix("> ") for line in text.splitlines()) == (
        "**Older than the present model, a: 2 of 3 recorded figures of this page**, and what follows from them. "
        "By model b: `bcm` (1 of 2). By a model whose version was not recorded: table `dense`. "
        "`gpusim reproduce --stale` lists what is old now."
    )
    assert ages.note({"bcm": {"2": NEW}}, "a", "2026-11-29") == (
        "> All 1 recorded figures of this page are of the model of 2026-11-29, a."
    )


def test_a_note_names_the_old_rows_among_others() -> None:
    assert (
        ages.rows_note({"x": OLD}, "a") == "> **This page is older than the present model, a**: it was made by model b."
    )
    assert ages.rows_note({"x": NEW}, "a", "2026-11-29") == "> This page is of the model of 2026-11-29, a."
    assert ages.rows_note({"x": OLD, "y": NEW, "z": UNKNOWN}, "a") == (
        "> **Older than the present model, a: 2 of 3 figures**, by model b and a model whose version was not recorded. "
        "They are: x, z. What follows from them is of these models, too."
    )
    assert ages.rows_note({"x": NEW, "y": NEW}, "a") == "> All 2 figures are of the present model, a."


@pytest.mark.parametrize("head", ["", "> Figures: gpusim 0.2.0.\n> More.\n\n"])
def test_a_note_stands_below_the_title_once(head: str) -> None:
    page = f"# Title\n\n{head}    a command\n\n## Part\n"
    once = ages.with_note(page, "> A note.")
    assert once == f"# Title\n\n{head}<!-- age -->\n> A note.\n<!-- end of age -->\n\n    a command\n\n## Part\n"
    assert ages.with_note(once, "> Another.") == once.replace("A note", "Another")

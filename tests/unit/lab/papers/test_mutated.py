"""Do other costs of the engine, of searching and of converting give other words on Spartan's page, by its own runs?"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from gpusim.base.formats import TIMES
from gpusim.base.table import Table
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.page.answers import answer_question
from gpusim.lab.papers.points import RunsFigure
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import PointRecord, ReproductionResults, load
from gpusim.lab.papers.specs.reproduction import AnswerSpec
from tests.support.reproduction import judged, rendered

DOCS = Path(__file__).resolve().parents[4] / "results" / "spartan"
LITTLE, MUCH = 1e-3, 1e3  # of what a thing costs: whatever the runs say, these decide
Labels = Mapping[str, str]


@pytest.fixture(name="reproduction", scope="module")
def _reproduction() -> Reproduction:
    return load_reproduction("spartan")


@cache
def stored() -> ReproductionResults:
    return load(DOCS, "spartan")


@cache
def labelled() -> list[tuple[str, Labels]]:
    """Every point's key and labels."""
    reproduction = load_reproduction("spartan")
    figures = [one for one in reproduction.figures.values() if isinstance(one, RunsFigure)]
    return [(point.key, point.labels) for one in figures for point in one.points(reproduction.spec)]


def dearer(run: PointRecord, factor: float, launches: str = "") -> PointRecord:
    """A run whose launches of this beginning take so many times as long."""
    held = [(name, round(factor * cycles) if name.startswith(launches) else cycles) for name, cycles in run.launches]
    now, before = (sum(cycles for _, cycles in one) for one in (held, run.launches))
    took = {name: run.metrics[name] * now / before for name in ("kernel.cycles", "kernel.time_us")}
    return replace(run, metrics={**run.metrics, **took}, launches=held)


def changed(of: Callable[[Labels], bool], by: Callable[[PointRecord], PointRecord]) -> ReproductionResults:
    """The runs of results/spartan, those with some labels changed; at least one is."""
    results = stored()
    keys = {key for key, labels in labelled() if of(labels)}
    assert keys & results.points.keys()
    return replace(results, points={k: by(one) if k in keys else one for k, one in results.points.items()})


def sentence(reproduction: Reproduction, claim: str, results: ReproductionResults) -> str:
    """What the page says of a claim; no other one is judged."""
    mine = tuple(one for one in reproduction.spec.answers if one.claim == claim)
    figures = {
        name: figure.model_copy(update={"claims": tuple(one for one in figure.claims if one.name == claim)})
        for name, figure in reproduction.figures.items()
    }
    alone = Reproduction("spartan", reproduction.spec.model_copy(update={"answers": mine}), figures)
    return " ".join(answer_question(Publication(alone, results), judged(alone, results)))


def begins(template: str) -> str:
    """The words before the first figure."""
    return template.split("{")[0]


def by_path(*paths: str) -> Callable[[Labels], bool]:
    return lambda labels: labels["path"] in paths


def by_change(figure: Labels) -> Callable[[Labels], bool]:
    return lambda labels: all(labels.get(name) == held for name, held in figure.items())


PARTS = {"path": "engine", "batch": "128"}
WITHOUT_ENGINE = ("parts_software", "implicit_sparse", "fused", "two_pass", "two_pass_tiled")
SEARCHED = {"path": "source_search", "batch": "32"}


@pytest.mark.parametrize(
    ("claim", "of", "launches", "holds"),
    [
        ("whole_engine", by_path("whole_engine", "implicit_engine", "parts_engine"), "", LITTLE),
        ("whole_share", by_path("whole_engine", "implicit_engine", "parts_engine"), "", LITTLE),
        ("whole_software", by_path(*WITHOUT_ENGINE), "", LITTLE),
        # search free, or dear
        ("source_way", by_path("source_engine", "source_search"), "", LITTLE),
        ("products", by_path("source_engine"), "", LITTLE),
        # conversion free, or dear
        ("pass", by_path("software"), "dib_convert", MUCH),
        ("free", by_path("engine"), "", LITTLE),
        ("compactor", by_change({**PARTS, "change": "stream compactor"}), "", LITTLE),
        ("prefetching", by_change({**PARTS, "change": "no prefetching"}), "", MUCH),
        ("search_compactor", by_change({**SEARCHED, "change": "stream compactor"}), "", MUCH),
        ("maps_compactor", by_change({"path": "implicit_engine", "change": "stream compactor"}), "", MUCH),
        ("indexing", by_change({**PARTS, "change": "indexing 12 cycles slower"}), "", LITTLE),
        ("look_up", by_change({**PARTS, "change": "look-up of 32 cycles"}), "", MUCH),
        ("alexnet_captured", by_path("engine"), "", LITTLE),
    ],
)
def test_other_costs_give_other_words(
    reproduction: Reproduction, claim: str, of: Callable[[Labels], bool], launches: str, holds: float
) -> None:
    spec: AnswerSpec = next(one for one in reproduction.spec.answers if one.claim == claim)
    said = {}
    for factor in (LITTLE, MUCH):
        results = changed(of, partial(dearer, factor=factor, launches=launches))
        said[factor] = sentence(reproduction, claim, results)
    fails = MUCH if holds == LITTLE else LITTLE
    assert said[holds].startswith(begins(spec.holds)), "cheap enough, it holds"
    # in part: by other ways or layers; whether: without the pass that converts, software is about as fast as the engine
    others = tuple(begins(text) for text in (spec.does_not, spec.in_part) if text) + ("Whether ",) * (claim == "pass")
    assert said[fails].startswith(others), "dear enough, it does not"
    assert not said[fails].startswith(begins(spec.holds))


def test_a_conversion_that_costs_nothing_changes_figures_and_picture_too(reproduction: Reproduction) -> None:
    results = stored()
    free = changed(by_path("software"), lambda run: dearer(run, 0, "dib_convert"))
    figure = reproduction.figures["6.16-converted"]
    others = {name: one.model_copy(update={"claims": ()}) for name, one in reproduction.figures.items()}
    alone = replace(reproduction, figures={**others, "6.16-converted": figure})  # all others take ten times as long
    before, after = rendered(alone, results), rendered(alone, free)
    assert before.table.rows != after.table.rows
    first, then = (figure.picture(one.publication) for one in (before, after))
    assert first is not None and then is not None and list(first.rows) != list(then.rows)
    shown = {one.columns[0].head: one for one in figure.tables(after.publication)}["case"]
    gains = {(*row[:3], row[3]): row[-1] for row in shown.rows}
    ways = ("sparse in software", "sparse in software, converted for nothing")
    assert all(TIMES(gains[*place, ways[0]]) == TIMES(gains[*place, ways[1]]) for *place, way in gains if way in ways)


def test_every_sentence_has_words_for_both_verdicts(reproduction: Reproduction) -> None:
    for one in reproduction.spec.answers:
        assert one.holds and one.does_not and one.holds != one.does_not, one.claim


def test_the_screen_says_nothing_of_figures_that_were_not_asked_for(reproduction: Reproduction) -> None:
    nothing = ReproductionResults("spartan", {})
    blocks = list(rendered(reproduction, nothing).screen({"6.15": reproduction.figures["6.15"]}))
    (said,) = [one.splitlines() for one in blocks if isinstance(one, str) and one.startswith("- ")]
    (table,) = [one for one in blocks if isinstance(one, Table)]
    assert len(said) == 1 and said[0].startswith("- The monitor would leave AlexNet's conv2")
    assert {row[0] for row in table.rows} == {"6.15"} and table.columns[-1].head == "holds where"

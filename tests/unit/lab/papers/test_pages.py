"""Do pages of publications follow from their stored results alone, and does their text name what there is?"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.config.files import shipped
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import ReproductionResults, load
from gpusim.lab.papers.specs.reproduction import FOLDER
from tests.support.reproduction import rendered

STORED = Path(__file__).resolve().parents[4] / "results"
NAMES = [name.removesuffix(".yaml") for name in shipped(FOLDER)]


def test_a_page_does_not_depend_on_what_ran_first() -> None:
    """A run makes the page that `--draw` makes of what it stored."""
    reproduction = load_reproduction("dnnmark")
    pages = []
    for order in (list, lambda items: list(reversed(list(items)))):
        results = load(STORED / "dnnmark", "dnnmark")
        results = replace(results, networks=dict(order(results.networks.items())))
        pages.append(rendered(reproduction, results).files(reproduction.figures))
    assert len(load(STORED / "dnnmark", "dnnmark").networks) > 1 and pages[0] == pages[1]


@pytest.mark.parametrize("name", NAMES)
def test_what_texts_name_is_known(name: str) -> None:
    reproduction = load_reproduction(name)
    answers = [text for one in reproduction.spec.answers for text in (one.holds, one.in_part, one.does_not)]
    texts = [re.sub(r"\{(found|why)\}", "", text) for text in answers if reproduction.spec.runs is None]
    for text in (*texts, *(figure.note for figure in reproduction.figures.values())):
        assert "{" not in filled(text, Publication(reproduction, ReproductionResults(name, {})))

"""Do the sentences at the head of a page follow the verdicts, whatever publication their claims are of?"""

from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.page.markdown import markdown
from gpusim.lab.papers.page.summary import summarize, text_bars
from gpusim.lab.papers.page.writing import RenderedPublication
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import FILE, as_json
from tests.support.network_reproduction import INDEX, TIME, network, results_of, written

SUMMARY = """
summary_picture: time
summary:
  - topic: What takes the time
    parts:
      - {claim: most, holds: "the convolution ({found}) in {where}", does_not: "ReLU ({found})"}
      - {claim: short, holds: "it is short", does_not: "it is long ({found})", left_open: "nobody knows ({found})"}
figures: [time, gain]
"""
SHORT = """
  - name: short
    text: the convolution takes less than 100 us
    own: a test asks
    measure: time
    aggregation: each
    where: {layer: conv1, part: forward}
    bound: {below: 100, basis: a test's}
"""
WITH_SUMMARY = INDEX.replace("figures: [time, gain]\n", SUMMARY)


def publication_of(
    folder: Path, conv: float, relu: float, width: float = 0.0, index: str = WITH_SUMMARY
) -> Publication:
    reproduction = load_reproduction(str(written(folder, index, time=TIME + SHORT)))
    results = results_of(reproduction, lambda point: network(conv, relu, images=point.batch, width=width))
    return Publication(reproduction, results)


@pytest.mark.parametrize(
    ("conv", "relu", "width", "words"),
    [
        (30, 10, 0.0, ["The convolution (×3.00) in 1 mi6 net plain, 2 mi6 net plain. It is short."]),
        (300, 10, 0.0, ["The convolution", " It is long (300"]),
        (90, 95, 20.0, [" Nobody knows (90"]),
        (10, 30, 0.0, ["ReLU (×0.33", " It is short."]),
    ],
)
def test_sentences_follow_verdicts(tmp_path: Path, conv: float, relu: float, width: float, words: list[str]) -> None:
    (sentence,) = summarize(publication_of(tmp_path, conv, relu, width))
    assert sentence.topic == "What takes the time"
    for text in words:
        assert text in sentence.text


def test_a_sentence_says_that_its_runs_are_old(tmp_path: Path) -> None:
    (sentence,) = summarize(publication_of(tmp_path, 30, 10))
    assert sentence.age.startswith("Older than the present model") and "runs behind this" in sentence.age
    assert sentence.age in sentence.markdown


def test_a_part_may_be_of_another_publication(tmp_path: Path) -> None:
    parts = '      - {claim: most, publication: nets, holds: "there too ({found})"}\n'
    index = WITH_SUMMARY.replace("figures: [time, gain]\n", f"{parts}figures: [time, gain]\n")
    publication = publication_of(tmp_path, 30, 10, index=index)
    assert summarize(publication, folder=tmp_path / "recorded")[0].text.endswith(" Nets: not recorded here.")


def test_another_publication_s_claim_has_to_be_there(tmp_path: Path) -> None:
    parts = '      - {claim: mots, publication: layerwise, holds: "x"}\n'
    index = WITH_SUMMARY.replace("figures: [time, gain]\n", f"{parts}figures: [time, gain]\n")
    publication = publication_of(tmp_path, 30, 10, index=index)
    other = load_reproduction("layerwise")
    (tmp_path / "layerwise").mkdir()
    text = as_json(results_of(other, lambda point: None))
    (tmp_path / "layerwise" / FILE).write_text(text)
    with pytest.raises(UserError, match=r"summary: layerwise: .*'mots'"):
        summarize(publication, folder=tmp_path)


def test_page_and_screen_begin_with_the_summary_and_one_picture(tmp_path: Path) -> None:
    rendered = RenderedPublication(publication_of(tmp_path, 30, 10))
    page = markdown(rendered.page)
    sentence, picture = page.index("**What takes the time**"), page.index("](time.svg)")
    assert sentence < picture < page.index("## Which layer of net takes the time?")
    assert page.count("](time.svg)") == 1, "not again at the figure"
    figures = rendered.publication.figures
    screen = [block for block in rendered.screen(figures) if isinstance(block, str)]
    assert "**What takes the time**" in screen[0] and "█ " in screen[1]
    some = [block for block in rendered.screen({"time": figures["time"]}) if isinstance(block, str)]
    assert "**What takes the time**" not in some[0], "of other figures too"


def test_bars_of_text_are_as_long_as_their_values(tmp_path: Path) -> None:
    picture = publication_of(tmp_path, 30, 10).pictures["time"]
    title, *bars = text_bars(picture)
    assert title == "Time"
    longest = max(bars, key=lambda line: line.count("█"))
    assert longest.count("█") == 40
    values = {line.rsplit(" ", 1)[1]: line.count("█") for line in bars}
    assert all(abs(count - 40 * float(value) / 60) <= 0.5 or float(value) < 1 for value, count in values.items())


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("claim: short", "claim: shrt", "summary: .*did you mean 'short'"),
        ("summary_picture: time", "summary_picture: tim", "summary_picture: .*did you mean 'time'"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        publication_of(tmp_path, 30, 10, index=WITH_SUMMARY.replace(old, new))


def test_objections_stand_with_their_answers(tmp_path: Path) -> None:
    objections = "objections: [{objection: It is one network., answer: It stands.}]\nfigures: [time, gain]\n"
    index = WITH_SUMMARY.replace("figures: [time, gain]\n", objections)
    page = markdown(RenderedPublication(publication_of(tmp_path, 30, 10, index=index)).page)
    assert "## What a reviewer would object to\n\n- *It is one network.* It stands.\n" in page

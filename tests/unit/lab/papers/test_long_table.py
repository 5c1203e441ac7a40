"""Are bars and rows of the long table what a figure's records say, and is a page's HTML that of its Markdown?"""

from dataclasses import replace
from math import isclose, sqrt
from pathlib import Path

from gpusim.base.picture import Picture
from gpusim.base.table import Table, columns
from gpusim.config.files import shipped
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.long_table import FigureRecord, FigureValue, list_values
from gpusim.lab.papers.page.markdown import FigureSlot, bullets, heading, html, markdown, plain, text
from gpusim.lab.papers.pictures import build_panel
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import load
from gpusim.lab.papers.specs.reproduction import FOLDER
from tests.support.daily import parametrize_daily

STORED = Path(__file__).resolve().parents[4] / "results"
NAMES = [name.removesuffix(".yaml") for name in shipped(FOLDER)]
RECORDS = [
    FigureRecord({"gpu": "a", "layer": "x"}, {"time": 2.0, "name": "first", "gain": None}, {"time": 0.5}, "a"),
    FigureRecord({"gpu": "b", "layer": "x"}, {"time": 3, "name": "second", "gain": 1.5}, comparison="b"),
    FigureRecord({"gpu": "b", "layer": "y"}, {"time": 4.0, "name": "third", "gain": 1.0}, comparison="b"),
]


def test_numbers_of_records_are_rows_of_the_long_table() -> None:
    assert list(list_values(RECORDS[:2])) == [
        FigureValue("time", "a", {"gpu": "a", "layer": "x"}, 2.0, half_width=0.5),
        FigureValue("time", "b", {"gpu": "b", "layer": "x"}, 3),
        FigureValue("gain", "b", {"gpu": "b", "layer": "x"}, 1.5),
    ], "neither texts nor what is not known"


def test_bars_are_grouped_by_labels_and_open_where_there_is_no_record() -> None:
    panel = build_panel("time", RECORDS, ("layer", "gpu", "time"), line=1.0, with_half_widths=True)
    assert (panel.groups, panel.line) == (["x", "y"], 1.0)
    assert panel.values == {"a": [2.0, None], "b": [3, 4.0]}
    assert panel.half_widths == {"a": [0.5, 0.0], "b": [0.0, 0.0]}
    some = build_panel("time", RECORDS[1:], ("layer", "gpu", "time"), series_names=["a", "b"])
    assert some.values == {"a": [None, None], "b": [3, 4.0]} and some.half_widths == {}


BLOCKS = [
    heading("A *page*", 1),
    text("Made by `it` from [runs](results.json).", "See [claims](claims.md) and [more](https://example.org/a_b)."),
    heading("What is 1 < 2?"),
    bullets(["**yes**, l2.hit_rate of a_b", "no & never"]),
    Table([*columns("case", "value")], [["one", 1.5]], title="Numbers."),
    FigureSlot("6.1", "Speed"),
    FigureSlot("6.2", "Not drawn"),
]


def test_a_page_is_markdown_and_the_same_page_in_html() -> None:
    written = markdown(BLOCKS)
    assert written.startswith("# A *page*\n\nMade by `it` from [runs](results.json).  \nSee [claims]")
    assert "\n- **yes**, l2.hit_rate of a_b\n- no & never\n" in written and "![Speed](6.1.svg)\n" in written
    picture = Picture(name="bars", title="Speed", alt="", heads=("bar",), rows=[], draw=lambda figure: None)
    page = html(BLOCKS, {"6.1": picture}, {"claims.md": "#claims"}, "results.json")
    assert "<h1>A page</h1>" in page and '<h2 id="what-is-1-2">What is 1 &lt; 2?</h2>' in page
    assert "<p>Made by <code>it</code> from runs.<br>See " in page, "a file beside the page is a text alone"
    assert '<a href="#claims">claims</a> and <a href="https://example.org/a_b">more</a>.</p>' in page
    assert "<ul><li><strong>yes</strong>, l2.hit_rate of a_b</li><li>no &amp; never</li></ul>" in page
    assert 'data-v="1.5"' in page and "<figcaption>Speed</figcaption>" in page and "Not drawn" not in page


def test_a_text_without_its_marks() -> None:
    assert plain("- **holds** at `l2.hit_rate` of [it](x.md)\n") == "holds at l2.hit_rate of it"


def check_ratios(publication: Publication) -> None:
    """A ratio is open by what is open of either part; an ensemble adds to it, and equal runs have nothing open."""
    of_runs = [(value, value.ratio) for values in publication.long_table.values() for value in values if value.ratio]
    for value, parts in of_runs:
        relative = ((parts.above_half_width, parts.above), (parts.below_half_width, parts.below))
        both = abs(value.value) * sqrt(sum((width / part) ** 2 for width, part in relative if width))
        is_same = value.half_width == 0.0 and parts.above == parts.below
        is_added = bool(publication.spec.spread) and value.half_width > both
        assert is_same or is_added or isclose(value.half_width, both, rel_tol=1e-9), (value.measure, value.labels)


LARGE = {"bcm", "layerwise"}  # figures of their kinds are in others too


@parametrize_daily("name", NAMES, [number for number, name in enumerate(NAMES) if name not in LARGE])
def test_a_ratio_is_open_by_as_much_as_both_of_its_parts(name: str) -> None:
    """As recorded, and as if every product had been sampled and there were no ensembles."""
    results, reproduction = load(STORED / name, name), load_reproduction(name)
    check_ratios(Publication(reproduction, results))
    points = {key: replace(run, half_width=0.01 + n % 7 / 100) for n, (key, run) in enumerate(results.points.items())}
    alone = replace(reproduction, spec=reproduction.spec.model_copy(update={"spread": ()}))
    check_ratios(Publication(alone, replace(results, points=points)))

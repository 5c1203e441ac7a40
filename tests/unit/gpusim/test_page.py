"""Is the page whole, the same each time and safe against what names hold, and are its pictures' numbers right?"""

import base64
import csv
import hashlib
import html.parser
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.base.html import add, tag, written
from gpusim.base.picture import KINDS, Picture
from gpusim.cli.figure import FigureOptions
from gpusim.cli.main import invoke
from gpusim.cli.report import report
from gpusim.results.records.record import CommandTimes
from gpusim.results.report.lanes import command_columns
from gpusim.results.report.page import pictures, sweep
from gpusim.results.report.page.page import MOST_DETAILED, page, picture_files
from gpusim.results.report.result import Result, read
from gpusim.results.report.sections import SECTIONS, list_section_paths
from gpusim.results.store.records import StoredRun
from tests.support.daily import given_daily
from tests.support.results import CONFIG, QUIET, changed, draw_alone, network_of, result_of

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.compiled_tier  # host code

MOST_BYTES = 6 << 20
FASTER = changed(QUIET, {"kernel.cycles": 50_000, "kernel.name": "k_sparse", "verification.passed": False})


def both() -> Result:
    return read(result_of(QUIET, FASTER))


def swept(**axes: list[Any]) -> dict[str, Result]:
    """Results whose configurations differ in these values; cycles grow from one to the next."""
    found = {}
    for number in range(len(next(iter(axes.values())))):
        config = {**CONFIG, "engine": {name: values[number] for name, values in axes.items()}}
        tree = changed(QUIET, {"kernel.cycles": 1000 * (number + 1)})
        found[f"{number}.json"] = read(result_of(tree, config=config))
    return found


class Outline(html.parser.HTMLParser):
    """What a page holds: tags, identifiers, links, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without the pictures of their results, which take most of the time: those of the comparison stay."""
    draw_alone(monkeypatch)


@pytest.fixture
def stalls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with one picture of each result, and those of the comparison."""
    draw_alone(monkeypatch, "stalls")


@pytest.fixture(scope="module")
def whole() -> str:
    network = read(network_of(conv1=QUIET, fc=FASTER))
    return page({"run.json": both(), "net.json": network}, {"k.cl": [""] * 213 + ["acc += tile[i]; // <here>"]})


def test_the_page_has_every_section_and_metric(whole: str) -> None:
    outline = Outline(whole)
    for section in SECTIONS:
        counted = any(both().columns[0].get(path) is not None for path in list_section_paths(section))
        known = section.key in ("access", "guesses", "source") or counted
        assert (f"r1-{section.key}" in outline.ids) is known
        assert not known or f">{section.title}</h3>" in whole
    assert ">kernel.cycles</span>" in whole and ">100,000</td>" in whole and ">0.500 ×</td>" in whole
    assert "speed-up" in outline.text and "2.00 ×" in outline.text
    assert "the result is WRONG" in outline.text
    assert "conv1" in outline.text and "a remark" in outline.text


def test_hot_spots_stand_beside_their_source_lines(whole: str) -> None:
    assert "<td>k.cl:214</td><td><code>acc += tile[i]; // &lt;here&gt;</code></td>" in whole


def test_the_page_loads_nothing_and_runs_only_its_own_script(whole: str) -> None:
    outline = Outline(whole)
    assert not set(outline.tags) & {"img", "image", "link", "iframe", "object", "embed", "base", "form"}
    assert outline.tags.count("script") == 1
    links = [value for name, value in outline.attributes if name in ("src", "href", "srcset", "action")]
    assert links and all(value and value.startswith("#") for value in links)
    assert not any(name.startswith("on") for name, _ in outline.attributes)
    script = re.search(r"<script>(.*)</script>", whole, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', whole)
    assert policy is not None and f"script-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none';") and "unsafe-eval" not in policy[1]


def test_identifiers_are_unique_and_links_lead_somewhere(whole: str) -> None:
    outline = Outline(whole)
    assert sorted(outline.ids) == sorted(set(outline.ids))
    targets = {value[1:] for name, value in outline.attributes if name == "href" and value}
    targets |= {name for _, value in outline.attributes for name in re.findall(r"url\(#([^)]+)\)", value or "")}
    assert targets and targets <= set(outline.ids)


def test_every_picture_says_what_it_shows(whole: str) -> None:
    outline = Outline(whole)
    assert outline.tags.count("svg") == outline.tags.count("figure") >= 10
    labels = [value for name, value in outline.attributes if name == "aria-label" and value]
    assert any(
        label.startswith("Where wavefronts' cycles go. The largest parts, on average: issued") for label in labels
    )
    assert outline.tags.count("svg") == sum(pair == ("role", "img") for pair in outline.attributes)


def test_the_page_is_small_and_the_same_each_time(whole: str, stalls_alone: None) -> None:
    assert len(whole.encode()) < MOST_BYTES
    results = {"run.json": both(), "net.json": read(network_of(conv1=QUIET, fc=FASTER))}
    lines = {"k.cl": [""] * 213 + ["acc += tile[i]; // <here>"]}
    assert page(results, lines) == page(results, lines)


def test_many_results_stay_small_and_say_what_is_left_out(monkeypatch: pytest.MonkeyPatch, whole: str) -> None:
    assert MOST_DETAILED * len(whole.encode()) < MOST_BYTES
    draw_alone(monkeypatch)
    results = swept(sib_kib=list(range(1, 41)))
    text = page(results, {})
    assert len(text.encode()) < MOST_BYTES
    assert "Sections follow of 0.json: the best design." in text and text.count("<article") == 1
    assert all(f">{name}</th>" in text for name in results)


@given_daily(60, 200, st.text(max_size=20))
def test_whatever_a_text_holds_it_is_text(text: str) -> None:
    element = tag("p", text, title=text)
    add(element, tag("b", "x"), text)
    made = written(element)
    outline = Outline(made)
    assert outline.tags == ["p", "b"]
    assert [name for name, _ in outline.attributes] == ["title"]
    made.encode("utf-8")


NAMES = ("<script>alert(1)</script>]]>", "a$b$c\u202e", "\x00\x07\ud800" + "x" * 500)


def test_names_of_kernels_break_neither_page_nor_pictures() -> None:
    trees = {
        name: changed(QUIET, {"kernel.name": name, "hotspots": [{**QUIET["hotspots"][0], "instruction": name}]})
        for name in NAMES
    }
    runs = read(result_of(*trees.values(), names=NAMES, config={**CONFIG, "kernel": NAMES[0]}))
    text = page({NAMES[0]: runs, NAMES[2]: read(network_of(**trees))}, {})
    text.encode("utf-8")
    outline = Outline(text)
    assert outline.tags.count("script") == 1 and "\x00" not in text
    assert "alert(1)" in outline.text and "a$b$c" in outline.text


def test_pictures_become_files_with_their_numbers() -> None:
    names = ["stalls", "normalized"]
    files = picture_files({"run.json": both()}, names, kinds=[*KINDS, ".csv"])
    assert {Path(name).suffix for name in files} == {".svg", ".png", ".pdf", ".csv"}
    assert set(files) == {f"{name}{kind}" for name in names for kind in (*KINDS, ".csv")}
    assert files["stalls.svg"].startswith(b"<?xml") and files["stalls.png"].startswith(b"\x89PNG")
    assert files["stalls.pdf"].startswith(b"%PDF")
    assert {f"stalls{kind}": numbers(both(), "stalls").file(kind) for kind in (".svg", ".png", ".pdf")}.items() <= (
        files.items()
    ), "the same bytes each time"
    rows = list(csv.DictReader(io.StringIO(files["normalized.csv"].decode())))
    assert rows[0] == {"ratio to dense": "kernel.cycles", "dense": "1.0", "sparse": "0.5"}


def test_of_several_results_the_pictures_that_compare_them_are_written(stalls_alone: None) -> None:
    results = swept(sib_kib=[1, 2], b=[3, 4])
    heard: list[str] = []
    page(results, {}, heard.append)
    assert [line.split(":")[0] for line in heard] == [f"{number} of 2 results drawn" for number in (1, 2)]
    assert set(picture_files(results)) == {"axis.svg", "pareto.svg"}
    assert set(picture_files(results, ["r2-stalls", "pareto"])) == {"r2-stalls.svg", "pareto.svg"}
    assert len(picture_files(results, ["stalls"])) == 2


def numbers(results: dict[str, Result] | Result, name: str) -> Picture:
    drawn = (
        sweep.draw_main_pictures(sweep.build_sweep_data(results))
        if isinstance(results, dict)
        else [picture for held in pictures.draw_pictures(results).values() for picture in held]
    )
    (found,) = (picture for picture in drawn if picture.name == name)
    return found


def test_the_roofline_is_hierarchical() -> None:
    """150,000 vector instructions in 100,000 cycles; 1000 transactions with L1, 40,000 with L2, which could be done in
    10,000 cycles."""
    rows = numbers(read(result_of(changed(QUIET, {"dram": {**QUIET["dram"], "bytes": 64_000}}))), "roofline").rows
    assert [row[1:] for row in rows] == [("L1", 150.0, 1.5, 4.0), ("L2", 3.75, 1.5, 4.0), ("DRAM", 150.0, 1.5, 0.1)]


def test_the_roofline_has_space_for_all_that_has_vector_instructions_and_for_its_knees() -> None:
    picture = numbers(read(network_of(first=changed(QUIET, {"kernel.valu_instructions": 0}), fc=FASTER)), "roofline")
    assert {row[0] for row in picture.rows} == {"fc forward"}
    from matplotlib.figure import Figure

    picture.draw(figure := Figure())
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    places = [x for line in axes.lines for x in line.get_xdata()]
    assert {low, high} <= set(places)  # the roofs go from end to end
    inner = [x for x in places if x not in (low, high)]
    assert len(inner) == 4 and (4 * low, high / 4) == pytest.approx((min(inner), max(inner)))


def test_stall_parts_tile_the_whole() -> None:
    for row in numbers(both(), "stalls").rows:
        assert sum(row[1:]) == pytest.approx(100)
    layers = numbers(read(network_of(conv1=QUIET, fc=FASTER)), "stalls").rows
    assert [row[0] for row in layers] == ["conv1 forward", "fc forward"]


def test_the_histogram_has_the_counts() -> None:
    rows = numbers(read(result_of(QUIET)), "engine-latency-histogram").rows
    assert rows == [(1, 1, 0), (2, 3, 0), (4, 7, 10), (8, 15, 500), (16, 31, 490)]


def test_the_heat_map_has_a_field_for_each_pair() -> None:
    results = swept(sib_kib=[128, 512.0, 128, 512], prefetch_buffer_kib=[64, 64, 256, 256])
    picture = numbers(results, "heat-map")
    assert "SIB (KiB)" in picture.title
    fields = [("128", 64, 1000), ("128", 256, 3000), ("512", 64, 2000), ("512", 256, 4000)]
    assert [row[1:4] for row in picture.rows] == fields
    assert picture.alt.startswith("From 1,000 at 128, 64 to 4,000 at 512, 256")


def test_a_field_that_no_result_has_stays_empty() -> None:
    picture = numbers(swept(sib_kib=[128, 512, 128], prefetch_length=[1, 2, 3]), "heat-map")
    assert [row[1:4] for row in picture.rows] == [("128", 1, 1000), ("128", 3, 3000), ("512", 2, 2000)]
    picture.file(".svg")


def test_the_front_is_cycles_against_kib_of_memories() -> None:
    rows = numbers(swept(sib_kib=[512, 128, 512], prefetch_buffer_kib=[64, 64, 8]), "pareto").rows
    found = sorted((row[3], row[5], row[7]) for row in rows)
    assert found == [(192, 2000, "front"), (520, 3000, "another is better"), (576, 1000, "front")]


def test_only_what_differs_is_an_axis() -> None:
    """What always changes together is one axis: a layer's name, shape and data."""
    points = sweep.build_sweep_data(
        swept(sib_kib=[1, 2, 2], shifters=[8, 8.0, 8], kind=["a", "b", "b"], mode=["x", "x", "y"])
    )
    assert list(points.axes) == ["engine.sib_kib", "engine.mode"]
    assert points.places[2].values == {"engine.sib_kib": 2, "engine.mode": "y"}


def test_results_of_different_kinds_have_no_common_axes(undrawn: None) -> None:
    results = {"a": both(), "b": read(network_of(conv1=QUIET))}
    assert not sweep.build_sweep_data(results).axes and sweep.draw_main_pictures(sweep.build_sweep_data(results)) == []
    assert "The results are of different kinds" in page(results, {})


def test_results_of_different_kinds_are_not_ranked(undrawn: None) -> None:
    """A network is not slower than a layer: neither is named as the one with the fewest cycles."""
    layer, network = read(result_of(QUIET)), read(network_of(conv1=FASTER))
    for results, ranked in (({"a": layer, "b": network}, False), ({"a": layer, "b": read(result_of(FASTER))}, True)):
        comparison = page(results, {}).partition('id="comparison"')[2].partition("</section>")[0]
        assert ">100,000<" in comparison and ">50,000<" in comparison, "the cycles stand there all the same"
        assert ("The fewest cycles: 50,000 cycles, b." in comparison) is ranked


def test_the_title_is_the_one_results_or_their_number(undrawn: None) -> None:
    one = read(result_of(QUIET))
    assert f"<title>gpusim: {one.title}</title>" in page({"a": one}, {})
    assert "<title>gpusim: 2 results</title>" in page({"a": one, "b": read(result_of(FASTER))}, {})


def test_a_network_s_variants_are_columns_and_its_layers_rows() -> None:
    one = network_of(conv1=QUIET)
    both: dict[str, Any] = {"dense": {name: one.pop(name) for name in (*QUIET, "total", "rows")}}
    both["sparse"] = network_of(conv1=FASTER, fc=FASTER)
    result = read({**one, **both})
    assert result.speed_up(result.columns[1]) == 2.0
    assert [row[0] for row in numbers(result, "stalls").rows] == [
        "dense: conv1 forward", "sparse: conv1 forward", "sparse: fc forward",
    ]  # fmt: skip
    assert read({**one, **both, "sparse": None, "partial": True}).columns[0].name == "dense"


def test_a_sweep_s_points_are_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, undrawn: None
) -> None:
    monkeypatch.chdir(tmp_path)
    varied = ["--set", "run.timing=false", "--set", "local_size=[64],[128]", "--jobs", "1", "--quiet"]
    assert invoke(["sweep", "vector_add", *varied, "--store", "s.db"]) == 0
    assert invoke(["report", "--sweep", "1", "--store", "s.db", "--html", "r.html"]) == 0
    text = (tmp_path / "r.html").read_text()
    assert ">[64]</td>" in text and ">[128]</td>" in text and text.count("<article") >= 1
    assert invoke(["report", "--sweep", "2", "--store", "s.db"]) == 2
    assert invoke(["report", "--store", "s.db"]) == 2
    error = capfd.readouterr().err
    assert (
        "there is no sweep 2" in error and "RESULT: a file, a run of a store, or a sweep (sweep:N) is needed" in error
    )
    assert invoke(["results", "name", "sweep:1", "sizes", "--store", "s.db"]) == 0
    assert invoke(["report", "sizes", "--store", "s.db", "--html", "r.html"]) == 0
    before = (tmp_path / "r.html").read_bytes()
    for name in ("sweep:1", "sizes", "sweep:sizes"):
        assert invoke(["report", name, "--store", "s.db", "--html", "r.html"]) == 0
        assert (tmp_path / "r.html").read_bytes() == before
    assert invoke(["report", "sizes", "1", "--store", "s.db"]) == 2
    assert "run 1: is named twice" in capfd.readouterr().err


@pytest.mark.compiled_tier
def test_of_a_large_sweep_only_what_is_shown_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["global_size=[64]", "arguments.n.value=64"]
    small += [f"arguments.{name}={{fill: 1, dtype: float32, shape: [64]}}" for name in "abc"]
    varied = [*small, f"gpu.l1.fill_latency_cycles={','.join(map(str, range(60, 60 + MOST_DETAILED + 2)))}"]
    sets = [word for text in varied for word in ("--set", text)]
    assert invoke(["sweep", "vector_add", *sets, "--jobs", "1", "--quiet"]) == 0
    read_whole = []
    original = StoredRun.document

    def counted(self: StoredRun) -> dict[str, Any]:
        read_whole.append(self.row["id"])
        return original(self)

    monkeypatch.setattr(StoredRun, "document", counted)
    assert invoke(["results", "name", "2", "base"]) == 0
    assert invoke(["report", "sweep:1", "--html", "sweep.html"]) == 0
    assert read_whole == [1], "of the best design"
    assert ">run base (2)<" in Path("sweep.html").read_text()


def test_results_that_noise_alone_tells_apart_are_said_to_be_alike(undrawn: None) -> None:
    results = {}
    for name, (cycles, width, sib) in {"a": (1000, 30, 8), "b": (1050, 30, 8), "c": (1100, 30, 8)}.items():
        changes = {"kernel.cycles": cycles, "kernel.cycles_half_width": float(width)}
        config = {**CONFIG, "engine": {"sib_kib": sib, "name": name}}
        results[name] = read(result_of(changed(QUIET, changes), config=config))
    outline = Outline(page(results, {}))
    text = " ".join(outline.text.split())
    assert "least kernel.cycles: 1,000 ± 30 cycles, at engine.name a" in text
    assert "not distinguishable from it: engine.name b" in text and "engine.name c" not in text


def test_a_run_of_a_store_is_a_result_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for size in (64, 128):
        untimed = ["--set", "run.timing=false", "--set", f"local_size=[{size}]", "--quiet"]
        assert invoke(["exec", "vector_add", *untimed, "--store", "s.db"]) == 0
    assert invoke(["report", "1", "2", "--store", "s.db"]) == 0
    text = (tmp_path / "report.html").read_text()
    assert "not modelled" in text or "vector_add: 10,000 work-items" in text
    assert ">local_size</button>" in text
    assert invoke(["results", "show", "1", "--store", "s.db", "--section", "instructions"]) == 0
    assert "  kernel.valu_instructions " in capfd.readouterr().out
    assert invoke(["report", "nothing", "--store", "s.db"]) == 2
    assert "nothing" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "is not a result that gpusim run, exec or net has written"),
        ('{"config": {}, "schema_version": 99}', "has schema_version 99"),
    ],
)
def test_what_is_no_result_is_one_line_and_code_2(content: str, said: str, tmp_path: Path, capfd: Any) -> None:
    path, target = tmp_path / "f.json", tmp_path / "r.html"
    path.write_text(content)
    assert invoke(["report", str(path), "--html", str(target)]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"gpusim: error: {path}: ") and said in error and error.count("\n") == 1
    assert not target.exists()


def test_the_command_writes_page_and_pictures_and_replaces_no_input(
    tmp_path: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch, stalls_alone: None
) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(result_of(QUIET)))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.cl").write_text("\n" * 213 + "float x;\n")
    assert invoke([
        "report", str(path), "--html", str(tmp_path / "r.html"), "--pictures", str(tmp_path / "p"),
        "--source", str(tmp_path / "src"), "--picture", "stalls", "--format", "csv", "--format", "png",
    ]) == 0  # fmt: skip
    assert "r.html: 1 result\n" in capfd.readouterr().err
    assert "<code>float x;</code>" in (tmp_path / "r.html").read_text()
    assert sorted(file.name for file in (tmp_path / "p").iterdir()) == ["stalls.csv", "stalls.png"]
    for arguments, said in (
        (["--html", str(path)], "would be overwritten"),
        (["--html", str(tmp_path / "no" / "r.html")], "does not exist"),
        (["--html", str(tmp_path / "x.html"), "--source", str(path)], "is no folder"),
        (["--html", str(tmp_path / "x.html"), "--picture", "stalls"], "say with --pictures DIR"),
        (
            ["--html", str(tmp_path / "x.html"), "--pictures", str(tmp_path), "--picture", "stals"],
            "unknown picture 'stals'; did you mean 'stalls'?",
        ),
    ):
        assert invoke(["report", str(path), *arguments]) == 2
        assert said in capfd.readouterr().err
    with pytest.raises(UserError, match="named twice"):
        report(only=[], results=[str(path), str(path)], html=tmp_path / "x.html", chosen=FigureOptions(), quiet=True)
    draw_alone(monkeypatch)  # seen above
    (tmp_path / "twin").mkdir()
    (tmp_path / "twin" / "f.json").write_text(json.dumps(result_of(FASTER)))
    report(
        only=[],
        results=[str(path), str(tmp_path / "twin" / "f.json")],
        html=tmp_path / "x.html",
        chosen=FigureOptions(),
        quiet=True,
    )
    assert str(tmp_path / "twin" / "f.json") in (tmp_path / "x.html").read_text()


def timed_network(*times: CommandTimes) -> Result:
    found = {**network_of(conv1=QUIET, fc=QUIET), "commands": command_columns(times)}
    return read(json.loads(json.dumps(found)), "net.json")


def test_a_timeline_has_a_picture_and_the_data_of_its_viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_alone(monkeypatch, "timeline")
    times = [
        CommandTimes("_Z3sumPKdPd1i", 0.0, 5.0, 6.5, 0, 0, "conv1 forward", 1),
        CommandTimes("</div>", 6.5, 11.5, 12.0, 0, 0, "fc forward", 2),
        CommandTimes("copy", 12.0, 12.0, 13.0, 64, 0, "", 0, "to the device"),
    ]
    outline = Outline(page({"net.json": timed_network(*times)}, {}))
    assert "r1-timeline" in outline.ids and ("href", "#r1-timeline") in outline.attributes
    (text,) = (value for name, value in outline.attributes if name == "data-timeline")
    data = json.loads(text or "")
    assert [lane["title"] for lane in data["lanes"]] == [
        "passes", "layers", "stream 0: kernels", "stream 0: copies to the device",
    ]  # fmt: skip
    rows = [list(zip(*lane["spans"], strict=True)) for lane in data["lanes"]]
    texts = data["texts"]
    assert [(texts[row[0]], texts[row[1]], *row[3:]) for row in rows[2]] == [
        ("sum", "conv1 forward", 5000, 6500, 1), ("</div>", "fc forward", 11500, 12000, 2),
    ]  # fmt: skip
    assert {texts[row[2]] for row in rows[2]} == {"vector ALUs 60%"}, "a launch has its row's bound"
    assert [(texts[row[0]], row[5]) for row in rows[3]] == [("copy", 64)]
    (picture,) = pictures.draw_pictures(timed_network(*times))["timeline"]
    assert picture.alt.startswith("Launches: 2, copies: 1, in 13 us, on 4 lanes: passes; layers; ")
    assert ("stream 0: kernels", "sum", 5.0, 6.5, 1) in picture.rows


def test_a_run_without_times_has_no_timeline() -> None:
    assert pictures.draw_pictures(timed_network())["timeline"] == []
    assert pictures.draw_pictures(both())["timeline"] == []


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [("started_ns", [1, 2], "equal lengths"), ("name", [7], "from 0 to 1"), ("place", "conv1", "list")],
)
def test_damaged_commands_are_refused(column: str, value: object, said: str) -> None:
    commands = {**command_columns([CommandTimes("k", 0.0, 1.0, 2.0)]), column: value}
    with pytest.raises(UserError, match=f"net.json.*commands.*{said}"):
        read({**network_of(conv1=QUIET), "commands": commands}, "net.json")

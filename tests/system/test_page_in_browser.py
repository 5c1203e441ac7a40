"""Does the page work in a browser: without a message on its console, by keyboard, light and dark, and offline?"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from gpusim.lab.papers.records import FILE, as_json
from gpusim.results.records.record import CommandTimes
from gpusim.results.report.lanes import command_columns
from gpusim.results.report.page.page import page
from gpusim.results.report.result import read
from tests.support import browser
from tests.support.daily import parametrize_daily
from tests.support.reproduction import INDEX, loaded, results_of
from tests.support.results import QUIET, changed, network_of, result_of

pytest.importorskip("matplotlib")
pytestmark = [
    pytest.mark.skipif(browser.find() is None, reason=browser.NO_BROWSER),
    pytest.mark.compiled_tier,
]
# tables are found by their columns' heads
POINTS = "[...document.querySelectorAll('table')].find(t => t.tHead?.rows[0].cells[0].textContent === 'run')"
LAYERS = "[...document.querySelectorAll('table')].find(t => t.tHead?.rows[0].cells[0].textContent === 'layer')"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of three runs that differ in a value, and its file."""
    results = {}
    for name, cycles in (("b.json", 100_000), ("a.json", 9_000), ("c.json", 20_000)):
        config = {**result_of(QUIET)["config"], "engine": {"sib_kib": cycles // 100}}
        tree = changed(QUIET, {"kernel.cycles": cycles})
        results[name] = read(result_of(tree, changed(tree, {"kernel.cycles": cycles // 2}), config=config))
    path = tmp_path_factory.mktemp("page") / "r.html"
    path.write_text(page(results, {}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(file: Path) -> Iterator[browser.Browser]:
    with browser.Browser() as found:
        found.open(file)
        yield found
        assert found.errors == []


@pytest.fixture(scope="module")
def other() -> Iterator[browser.Browser]:
    """For pages that are looked at once."""
    with browser.Browser() as found:
        yield found


def first_column(opened: browser.Browser) -> list[str]:
    return opened.evaluate(f"[...{POINTS}.tBodies[0].rows].map((row) => row.cells[0].textContent)")


def test_the_console_is_silent_and_nothing_is_asked_for(opened: browser.Browser, file: Path) -> None:
    assert opened.errors == []
    assert set(opened.requests) == {file.resolve().as_uri()}
    assert opened.evaluate("document.querySelectorAll('svg').length") > 10
    assert opened.evaluate(
        "[...document.querySelectorAll('article:not([hidden]) svg')].every(s => s.clientWidth > 300)"
    )


def test_a_silent_console_is_no_deaf_one(other: browser.Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
        "<script>alert(1)</script><img src='https://example.org/x.png'>"
    )
    other.open(bad)
    assert len(other.errors) == 2 and all("Content Security Policy" in error for error in other.errors)
    other.errors.clear()


def test_tables_are_sorted_by_their_heads(opened: browser.Browser) -> None:
    heads: list[str] = opened.evaluate(f"[...{POINTS}.tHead.rows[0].cells].map((head) => head.textContent)")
    cycles = next(place for place, head in enumerate(heads) if head.startswith("kernel.cycles"))
    press = f"{POINTS}.tHead.querySelectorAll('button')[{cycles}].click()"
    opened.evaluate(press)
    assert first_column(opened) == ["a.json", "c.json", "b.json"], "by number, not by text"
    opened.evaluate(press)
    assert first_column(opened) == ["b.json", "c.json", "a.json"]
    sort = opened.evaluate(f"[...{POINTS}.tHead.rows[0].cells].map((head) => head.getAttribute('aria-sort'))")
    assert sort == ["descending" if place == cycles else None for place in range(len(heads))]
    opened.evaluate(f"{POINTS}.tHead.querySelectorAll('button')[0].click()")
    assert first_column(opened) == ["a.json", "b.json", "c.json"]


def visible(opened: browser.Browser) -> list[str]:
    return opened.evaluate("[...document.querySelectorAll('article')].filter(a => !a.hidden).map(a => a.id)")


def test_tabs_are_chosen_by_keyboard(opened: browser.Browser) -> None:
    assert visible(opened) == ["r1"]
    opened.evaluate("document.getElementById('tab1').focus()")
    opened.press("ArrowRight")
    assert visible(opened) == ["r2"]
    assert opened.evaluate("document.activeElement.id") == "tab2"
    opened.press("End")
    assert visible(opened) == ["r3"]
    opened.press("ArrowRight")
    assert visible(opened) == ["r1"]


def test_everything_is_reached_by_keyboard(opened: browser.Browser, file: Path) -> None:
    opened.open(file)
    opened.press("Tab")
    assert opened.evaluate("document.activeElement.className") == "skip"
    seen = set()
    for _ in range(60):
        opened.press("Tab")
        seen.add(
            opened.evaluate("document.activeElement.localName + (document.activeElement.getAttribute('role') ?? '')")
        )
    assert {"button", "divregion", "buttontab", "a", "input", "summary"} <= seen
    opened.evaluate("document.querySelector('article:not([hidden]) details.metrics summary').focus()")
    opened.press("Enter")
    assert opened.evaluate("document.activeElement.parentElement.open") is True


def test_a_metric_is_found(opened: browser.Browser) -> None:
    search = "document.querySelector('article:not([hidden]) input[type=search]')"
    opened.evaluate(f"{search}.focus(); {search}.value = 'l2.hit'; {search}.dispatchEvent(new Event('input'))")
    shown = opened.evaluate(
        "[...document.querySelectorAll('article:not([hidden]) details.metrics[open] tbody tr')]"
        ".filter(row => !row.hidden).map(row => row.cells[0].textContent)"
    )
    assert shown == ["l2.hit_rate"]
    opened.evaluate(f"{search}.value = ''; {search}.dispatchEvent(new Event('input'))")
    assert opened.evaluate("document.querySelectorAll('article:not([hidden]) details.metrics[open]').length") == 0


LUMINANCE = """
(() => {
  const light = (text) => {
    const parts = text.match(/[\\d.]+/g).map(Number).slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const worst = [];
  for (const element of document.querySelectorAll("h1, p, td, th, li, a, summary, figcaption, .advice, svg text")) {
    const style = getComputedStyle(element);
    const ink = light(element.localName === "text" ? style.fill : style.color);
    const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    if (ratio < 4.5 && !element.closest("#c-heat-map")) worst.push(element.localName + " " + ratio);
  }
  return worst;
})()
"""


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_text_is_read_easily(scheme: str, dark: bool, opened: browser.Browser) -> None:
    """A contrast of at least 4.5, as the web's guidelines on accessibility ask for."""
    opened.scheme(scheme)
    ground = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground != "rgb(255, 255, 255)") is dark
    assert opened.evaluate(LUMINANCE) == []


def test_a_network_s_page_renders(other: browser.Browser, tmp_path: Path) -> None:
    path = tmp_path / "net.html"
    path.write_text(page({"net.json": read(network_of(conv1=QUIET, fc=QUIET))}, {}), encoding="utf-8")
    other.open(path)
    assert other.errors == []
    assert other.evaluate(f"[...{LAYERS}.tBodies[0].rows].map((row) => row.cells[0].textContent)") == ["conv1", "fc"]


MANY = 4_000  # more than twice the pixels of a line


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a program with many launches on one stream, and as many copies on another."""
    kernels = [CommandTimes(f"k{n % 3}", 10.0 * n, 10.0 * n + 5, 10.0 * n + 9, number=n + 1) for n in range(MANY)]
    copies = [
        CommandTimes("copy", 10.0 * n, 10.0 * n, 10.0 * n + 4, 64, 1, direction="to the device") for n in range(MANY)
    ]
    commands = command_columns([*kernels, *copies])
    path = tmp_path_factory.mktemp("timeline") / "t.html"
    path.write_text(page({"t.json": read({**network_of(k0=QUIET), "commands": commands})}, {}), encoding="utf-8")
    return path


def drawn_view(opened: browser.Browser) -> dict[str, float]:
    """From where to where the viewer's canvas shows the timeline, and in how many spans, once it is drawn."""
    opened.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return {
        name: float(value) for name, value in opened.evaluate("({...document.querySelector('canvas').dataset})").items()
    }


def test_a_timeline_of_many_launches_is_zoomed_and_moved(other: browser.Browser, launched: Path) -> None:
    """By keys, wheel, mouse and buttons; what is narrower than a pixel is drawn as one."""
    other.errors.clear()
    other.requests.clear()
    other.open(launched)
    whole = drawn_view(other)
    assert (whole["from"], whole["to"]) == (0, 10_000 * (MANY - 1) + 9000)
    wide = other.evaluate("document.querySelector('canvas').clientWidth")
    assert 0 < whole["drawn"] <= 2 * wide, "not one for each launch"
    assert (
        other.evaluate("document.querySelector('canvas').closest('figure').querySelector('svg').checkVisibility()")
        is False
    )
    said = "document.querySelector('output.span').textContent"
    other.evaluate("document.querySelector('canvas').focus()")
    for _ in range(2):
        other.press("ArrowRight")
    drawn_view(other)
    assert other.evaluate(said) == ("k1 · stream 0: kernels · launch 2 · starts at 15 us · takes 4 us")
    other.press("ArrowDown")
    drawn_view(other)
    assert other.evaluate(said) == "copy · stream 1: copies to the device · 64 bytes · starts at 20 us · takes 4 us"
    for _ in range(12):
        other.press("+")
    near = drawn_view(other)
    assert near["to"] - near["from"] == pytest.approx(whole["to"] / 2**12) and near["from"] <= 22_000 <= near["to"]
    assert near["drawn"] < 12
    x, y = other.evaluate(
        "(([r]) => [r.x + r.width * 0.6, r.y + 11])(document.querySelector('canvas').getClientRects())"
    )
    other.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    closer = drawn_view(other)
    assert near["from"] < closer["from"] and closer["to"] < near["to"]
    other.mouse("mousePressed", x, y, button="left", clickCount=1)
    other.mouse("mouseMoved", x - 100, y, button="left")
    other.mouse("mouseReleased", x - 100, y, button="left", clickCount=1)
    dragged = drawn_view(other)
    assert dragged["from"] > closer["from"]
    assert dragged["to"] - dragged["from"] == pytest.approx(closer["to"] - closer["from"])
    other.press("Home")
    assert drawn_view(other) == whole
    other.evaluate("[...document.querySelectorAll('.timeline button')].find(b => b.textContent === '+').click()")
    assert drawn_view(other)["to"] < whole["to"]
    assert other.errors == [] and set(other.requests) == {launched.resolve().as_uri()}


def test_without_a_script_a_timeline_is_a_picture(other: browser.Browser, launched: Path) -> None:
    other.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        other.open(launched)
        assert other.evaluate("document.querySelector('canvas')") is None
        assert other.evaluate("document.querySelector('div.timeline').checkVisibility()") is False
        assert other.evaluate("document.querySelector('#r1-timeline figure svg').clientWidth") > 300
        label = other.evaluate("document.querySelector('#r1-timeline figure svg').getAttribute('aria-label')")
        assert f"Launches: {MANY:,}, copies: {MANY:,}" in label
    finally:
        other.send("Emulation.setScriptExecutionDisabled", value=False)


def write_report(_: Path) -> list[str]:
    for name, cycles in (("a.json", 9_000), ("b.json", 20_000)):
        config = {**result_of(QUIET)["config"], "engine": {"sib_kib": cycles // 100}}
        Path(name).write_text(json.dumps(result_of(changed(QUIET, {"kernel.cycles": cycles}), config=config)))
    return ["report", "a.json", "b.json"]


def write_sweep(_: Path) -> list[str]:
    sets = ["global_size=[64]", "arguments.n.value=64", "gpu.l1.fill_latency_cycles=60,90,120"]
    sets += [f"arguments.{name}={{fill: 1, dtype: float32, shape: [64]}}" for name in "abc"]
    options = [word for text in sets for word in ("--set", text)]
    assert invoke(["sweep", "vector_add", *options, "--jobs", "1", "--quiet"]) == 0
    return ["report", "sweep:1"]


def write_publication(folder: Path) -> list[str]:
    index = INDEX.replace("[speed, cache, train, place]", "[speed]")
    cycles = {"best": 900, "old": 1800, "soft": 800, "engine": 600, "theirs": 1200}
    (folder / "test").mkdir()
    (folder / "test" / FILE).write_text(as_json(results_of(loaded(folder, index), cycles)))
    return ["reproduce", "test.yaml", "--draw"]


@parametrize_daily("write", [write_report, write_sweep, write_publication], [0])
def test_pages_that_commands_write_open_without_an_error(
    write: Callable[[Path], list[str]], other: browser.Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a command writes: it loads nothing else, each of its pictures has a size, and nothing sticks out."""
    monkeypatch.chdir(tmp_path)
    assert invoke([*write(tmp_path), "--html", "page.html"]) == 0
    other.requests.clear()
    other.open(tmp_path / "page.html")
    assert other.errors == []
    assert set(other.requests) == {(tmp_path / "page.html").resolve().as_uri()}
    sizes = other.evaluate(
        "[...document.querySelectorAll('svg')].filter(s => s.checkVisibility()).map(s => s.clientWidth)"
    )
    assert sizes and min(sizes) > 100
    assert other.evaluate("document.documentElement.scrollWidth <= innerWidth")

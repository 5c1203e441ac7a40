"""Does the page work in a browser: without a message on its console, by keyboard, light and dark, and offline?"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpusim.results.report.page.page import page
from gpusim.results.report.result import read
from tests.support import browser
from tests.support.results import QUIET, changed, network_of, result_of

pytest.importorskip("matplotlib")
pytestmark = [
    pytest.mark.skipif(browser.find() is None, reason=browser.NO_BROWSER),
    pytest.mark.compiled_tier,
]
CYCLES = "Comparison of the results"


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
    return opened.evaluate(
        f"[...document.querySelectorAll('[aria-label=\"{CYCLES}\"] tbody th')].map((cell) => cell.textContent)"
    )


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
    press = f"document.querySelectorAll('[aria-label=\"{CYCLES}\"] thead button')[2].click()"
    assert opened.evaluate(f"document.querySelectorAll('[aria-label=\"{CYCLES}\"] thead button')[2].textContent") == (
        "kernel.cycles"
    )
    opened.evaluate(press)
    assert first_column(opened) == ["a.json", "c.json", "b.json"], "by number, not by text"
    opened.evaluate(press)
    assert first_column(opened) == ["b.json", "c.json", "a.json"]
    heads = (
        f"[...document.querySelectorAll('[aria-label=\"{CYCLES}\"] thead th')].map(h => h.getAttribute('aria-sort'))"
    )
    assert (
        opened.evaluate(heads)[2] == "descending"
        and opened.evaluate(heads).count(None) == len(opened.evaluate(heads)) - 1
    )
    opened.evaluate(f"document.querySelectorAll('[aria-label=\"{CYCLES}\"] thead button')[0].click()")
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
    assert other.evaluate("document.querySelector('[aria-label=\"Layers and passes\"]').textContent").count("conv1")

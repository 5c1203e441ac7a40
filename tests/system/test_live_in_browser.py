"""Does the live page work in a browser: it follows the run, by keyboard, at any width, and asks nobody else?"""

import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support import browser
from tests.support.live import Client, running

pytestmark = [
    pytest.mark.skipif(browser.find() is None, reason=browser.NO_BROWSER),
    pytest.mark.compiled_tier,
]
COMMAND = ["run", "layerB.yaml", "--set", "workload.batch=44", "--no-verify", "--live"]
STATUS = "document.getElementById('status').textContent"


def until(page: browser.Browser, expression: str) -> None:
    end = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        time.sleep(0.05)


@pytest.fixture(scope="module")
def page() -> Iterator[browser.Browser]:
    """The page of a run that has ended meanwhile: it was followed from its first launch to its end."""
    with browser.Browser() as found, running(COMMAND) as (_, port):
        found.visit(f"http://127.0.0.1:{port}/")
        until(found, "document.querySelectorAll('#cus svg rect').length > 0")
        assert found.evaluate(STATUS) == "running"
        found.evaluate("document.getElementById('counter').focus()")
        found.send("Input.insertText", text="l2.misses")
        found.press("Enter")
        until(found, "document.getElementById('charts').textContent.includes('l2.misses')")
        other = Client(port).state()
        assert other["outcome"] is None, "the run has to go on until here"
        until(found, f"!['running', 'connecting'].includes({STATUS})")
        yield found
        assert found.errors == []


def test_it_says_that_the_run_has_ended_and_shows_its_last_state(page: browser.Browser) -> None:
    assert page.evaluate(STATUS) == "the run has ended; this is its last state"
    assert page.evaluate("document.title").startswith("ended: ")
    launches = page.evaluate("[...document.querySelectorAll('#launches tr')].map((row) => row.textContent)")
    assert len(launches) == 1 and launches[0].endswith("(ended)")
    assert page.evaluate("document.getElementById('overall').textContent") == "", "one variant: no count of variants"
    assert page.evaluate("document.querySelectorAll('#charts path[d^=M]').length") == 9
    assert page.evaluate("document.querySelectorAll('#cus > div').length") == 36
    assert page.evaluate("document.querySelectorAll('#queues tr').length") > 10
    assert "live view: http" in page.evaluate("document.getElementById('messages').textContent")


def test_a_counter_that_is_always_zero_has_zero_as_its_maximum(page: browser.Browser) -> None:
    drawn = "(() => { const figure = chart(); plot(figure, 'rate', '%', [0, 1], [0, 0]); return figure.textContent })()"
    assert page.evaluate(drawn) == "rate: 0 %; at most 0"
    assert page.evaluate(drawn.replace("[0, 0]", "[null, null]")) == "rate: – %; at most –"


def test_it_asks_nobody_but_its_server(page: browser.Browser) -> None:
    assert {urlsplit(url).hostname for url in page.requests if not url.startswith("data:")} == {"127.0.0.1"}
    assert {urlsplit(url).path for url in page.requests if not url.startswith("data:")} == {"/", "/state.json"}


def test_everything_is_reached_by_keyboard(page: browser.Browser) -> None:
    page.evaluate("document.activeElement.blur()")
    seen = []
    for _ in range(12):
        page.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.localName"))
    assert {"button", "counter", "summary", "div"} <= set(seen)
    page.evaluate("document.querySelector('#all summary').focus()")
    page.press("Enter")
    until(page, "document.querySelectorAll('#counts tr').length > 50")
    page.evaluate("document.getElementById('find').focus()")
    page.send("Input.insertText", text="dram.row")
    until(page, "document.querySelectorAll('#counts tr').length === 3")
    page.evaluate("document.querySelector('details:not(#all) summary').focus()")
    page.press("Enter")
    until(page, "document.querySelectorAll('#cu-rows tr').length === 36")


@pytest.mark.parametrize("width", [400, 800, 1600])
def test_it_fits_any_width(page: browser.Browser, width: int) -> None:
    page.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    assert page.evaluate("innerWidth") == width
    assert page.evaluate("document.documentElement.scrollWidth") <= width

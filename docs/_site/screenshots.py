"""The pictures of results/pictures: `python -m docs._site.screenshots [LAYER.json NET.json]` (Chromium, Matplotlib).

Without results' files it makes them: `gpusim run layerB.yaml --engine both --hotspots` and `gpusim net lenet --batch 4
--phase train`, two minutes.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from docs._site.pages import RESULTS
from gpusim.cli.main import invoke
from gpusim.results.report.page.page import page
from gpusim.results.report.result import read
from tests.support.browser import Browser
from tests.support.live import running

PICTURES = RESULTS / "pictures"
COMMANDS = {
    "layerB.json": ["run", "layerB.yaml", "--engine", "both", "--hotspots"],
    "lenet.json": ["net", "lenet", "--batch", "4", "--phase", "train"],
}
WIDTH, HEIGHT = 1000, 860
LIVE_POINTS = 15


def results(given: list[str], folder: Path) -> dict[str, Path]:
    """The results' files, made where they are not given."""
    if given:
        return dict(zip(COMMANDS, map(Path, given), strict=True))
    for name, command in COMMANDS.items():
        if invoke([*command, "--quiet", "--json", str(folder / name)]):
            raise SystemExit(f"gpusim {' '.join(command)} failed")
    return {name: folder / name for name in COMMANDS}


def shoot(browser: Browser, file: Path, start: str, target: Path) -> None:
    """Save what begins at an element of the page."""
    browser.open(file)
    top = browser.evaluate(f"Math.max(0, document.querySelector({start!r}).getBoundingClientRect().top + scrollY - 12)")
    _save(browser, int(top), target)


def shoot_live(browser: Browser, target: Path) -> None:
    """Save the live view of a run that has gone on for a while."""
    with running([*COMMANDS["layerB.json"], "--live"]) as (_, port):
        browser.visit(f"http://127.0.0.1:{port}/")
        points = "(document.querySelector('#charts path')?.getAttribute('d') ?? '').split('L').length"
        while browser.evaluate(points) < LIVE_POINTS:
            time.sleep(0.1)
        _save(browser, 0, target)


def _save(browser: Browser, top: int, target: Path) -> None:
    browser.screenshot(target, (0, top, WIDTH, HEIGHT))
    with Image.open(target) as image:  # a palette is enough, and a third of the size
        image.convert("RGB").quantize(128).save(target, optimize=True)


def main() -> None:
    """Make the pictures anew."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, Browser(WIDTH, HEIGHT) as browser:
        folder = Path(name)
        for label, path in results(sys.argv[1:], folder).items():
            file = folder / f"{label}.html"
            file.write_text(page({label: read(json.loads(path.read_text()), label)}, {}), encoding="utf-8")
            stem = label.removesuffix(".json")
            if stem == "layerB":
                shoot(browser, file, "h1", PICTURES / "report-summary.png")
                shoot(browser, file, "#r1-speed_of_light", PICTURES / "report-roofline.png")
            else:
                shoot(browser, file, "#r1-stalls", PICTURES / "report-layers.png")
        shoot_live(browser, PICTURES / "live.png")


if __name__ == "__main__":
    main()

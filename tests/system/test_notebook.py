"""Does the tutorial's notebook run, cell by cell, and is what its cells end with shown as HTML that is well escaped?"""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from docs._site.notebook import NOTEBOOK, run
from gpusim.results.report.page.parts import fragment
from tests.support.results import QUIET, changed, network_of, result_of


def cells(kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


@pytest.mark.compiled_tier
def test_the_tutorial_runs_from_any_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUPY_FOLDER", raising=False)
    names: dict[str, Any] = {"__name__": "notebook"}
    values = [run("".join(cell["source"]), names) for cell in cells("code")]
    shown = [value._repr_html_() for value in values if hasattr(value, "_repr_html_")]
    assert len(shown) == 5, "a run, a launch, a comparison, a network, a sweep"
    assert "4 of 4 points" in shown[-1] and not names["sweep"].failed
    assert names["result"].passed and names["both"].passed
    assert values[4] == 0.0, "the kernel's result is NumPy's"
    assert len(values[5]) == 3 and values[5][0][1] >= values[5][1][1]
    assert sum(hasattr(value, "_repr_svg_") for value in values) == 2
    assert values[-1] == ["both.json", "net.json"]
    assert values[-2] == "CUPY_FOLDER names no folder with CuPy"


def test_the_notebook_is_kept_with_its_outputs() -> None:
    """A reader on the web sees results: every cell's, none an error, and the figures drawn (docs._site.notebook)."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    outputs = [output for cell in cells("code") for output in cell["outputs"]]
    assert all(cell["outputs"] for cell in cells("code"))
    assert all(output["output_type"] == "execute_result" for output in outputs)
    (lines,) = (cell["outputs"][0]["data"]["text/plain"][0] for cell in cells("code") if cell["id"] == "cupy-code")
    assert "('sums.py:5', " in lines, "the program of CuPy ran when its output was stored"
    assert sum("image/svg+xml" in output["data"] for output in outputs) == 2
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def test_a_fragment_is_small_complete_and_escaped() -> None:
    tree = changed(QUIET, {"kernel.name": "<script>alert('x')</script>", "stalls.synchronization": 970})
    text = fragment(result_of(tree, changed(tree, {"kernel.cycles": 50_000})))
    assert not set(Tags(text).tags) & {"script", "style", "link", "img"}
    assert "2.00 ×" in text and "wavefronts wait at barriers" in text and "&lt;script&gt;" in text
    assert len(text) < 20_000


def test_a_network_s_fragment_has_its_layers() -> None:
    text = fragment(network_of(conv1=QUIET, fc=QUIET))
    assert "conv1" in text and "a remark" in text and "tiny: training, batch 4 on small" in text

"""Is the gallery that of the stored points, and does the page's command name each figure's choice?"""

import pytest

from gpusim.cli.main import invoke
from tests.support import gallery
from tests.support.gallery import DOCS, FIGURES, PAGE, page

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.compiled_tier  # host code


def test_the_page_is_that_of_the_points() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text
    assert len(FIGURES) == len({one.name for one in FIGURES}) == 10
    assert all((DOCS / "gallery" / f"{one.name}.svg").is_file() for one in FIGURES)


@pytest.mark.parametrize("one", [FIGURES[0], FIGURES[3]], ids=lambda one: one.name)
def test_a_figure_is_drawn_anew_to_the_byte(one: gallery.Figure) -> None:
    drawn = gallery.draw_figure(gallery.sweep(one.source), one.choice, one.style).file(".svg")
    stored = (DOCS / "gallery" / f"{one.name}.svg").read_bytes()
    assert [line for line in stored.splitlines() if b"path d" in line or b"<text" in line] == [
        line for line in drawn.splitlines() if b"path d" in line or b"<text" in line
    ]


def test_the_commands_are_options_of_report(tmp_path: object, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["report", "--help"]) == 0
    options = capfd.readouterr().out
    for one in FIGURES:
        assert all(word in options for word in one.command.split() if word.startswith("--"))

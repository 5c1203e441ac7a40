"""Does the folder of `gpusim new publication` run as it is: its sweep, its figure, its claims?"""

from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from gpusim.config.sweep import SweepOverrides, load_sweep
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.study.sweep.points import list_points
from gpusim.study.sweep.tasks import prepared

pytestmark = pytest.mark.compiled_tier


def test_the_folder_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["new", "publication", "mine"]) == 0
    assert invoke(["new", "publication", "mine"]) == 2 and invoke(["new", "publication", "a/b"]) == 2
    err = capfd.readouterr().err
    assert "is there already" in err and "is no name of a publication" in err
    monkeypatch.chdir(tmp_path / "mine")
    spec, document = load_sweep("sweep.yaml", SweepOverrides())
    points = list_points(spec)
    assert len(points) == 12
    prepared(spec, points[-1], document.path)
    found = load_reproduction("mine.yaml")
    assert [len(figure.claims) for figure in found.figures.values()] == [2]
    text = Path("README.md").read_text()
    assert "NAME" not in text and "gpusim reproduce mine.yaml --out results" in text
    assert invoke(["reproduce", "mine.yaml", "--list"]) == 0
    assert "zeros" in capfd.readouterr().out

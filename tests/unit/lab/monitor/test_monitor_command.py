"""`gpusim monitor`: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest

from gpusim.cli.main import invoke


def test_curves_are_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert invoke(["monitor", "observed", "--json", str(tmp_path / "out.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in lines if "\t" in line}
    assert rows["sparse"][:3] == ["17", "850", "1.7 %"]
    assert rows["dense"][:3] == ["17", "17", "0.034 %"]  # each process ends with its first measurement
    assert "iteration 20,549: hibernate, by late" in lines
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [document["maps"]["late"]["processes"][n]["state"] for n in (13, 14)] == ["active", "hibernate"]
    assert document["settings"]["max_history_length"] == 10


def test_settings_are_set_and_the_table_is_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["monitor", "vggnet11", "--set", "duration=1", "--markdown"]) == 0
    assert "| conv4 | 12 | 12 | 0.15 % |" in capsys.readouterr().out


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "out.svg"
    assert invoke(["monitor", "jumping", "--quiet", "--picture", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert "measured" in text and "denser" in text


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "one of CURVES and --train"),
        (["observed", "--train", "vggnet11"], "one of CURVES and --train"),
        (["observd"], "did you mean 'observed'"),
        (["observed", "--set", "duraton=3"], "did you mean 'duration'"),
        (["observed", "--set", "duration=500"], "fewer than the initial period's 500"),
        (["observed", "--picture", "a.gif"], "ends in .svg or .png"),
        (["--train", "vggnet11", "--picture", "a.svg"], "belongs to CURVES"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["monitor", *arguments]) == 2
    said = capsys.readouterr().err
    assert part in said and said.count("\n") == 1

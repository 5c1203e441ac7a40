"""Do `gpusim check` and `gpusim hip --check` say what they find, on the screen, in JSON and by their exit code?"""

import json
from pathlib import Path

import pytest
import yaml

from gpusim.cli.main import invoke
from tests.support.hip_programs import PROGRAMS, pytestmark, run

DATA = Path(__file__).resolve().parents[1] / "data" / "check"
__all__ = ["pytestmark"]


def test_a_kernel_with_a_race_ends_with_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = {"fill": 0, "dtype": "int32", "shape": [8192]}
    execution = {
        "gpu": "r9nano", "code_object": str(DATA / "wrong.hsaco"), "kernel": "groups_write_one_place",
        "global_size": [1024], "local_size": [256],
        "arguments": {"out": array, "in": array, "n": {"value": 4, "dtype": "int32"}},
    }  # fmt: skip
    (tmp_path / "k.yaml").write_text(yaml.safe_dump(execution))
    result = tmp_path / "found.json"
    assert invoke(["check", str(tmp_path / "k.yaml"), "--json", str(result)]) == 1
    (finding,) = json.loads(result.read_text())["findings"]
    assert (finding["kind"], finding["file"], finding["kernel"]) == ("race", "wrong.cl", "groups_write_one_place")
    said = capsys.readouterr().out.splitlines()
    assert said[0] == finding["text"] and said[1].startswith("groups_write_one_place: 1 race; 4 workgroups, ")
    assert invoke(["check", str(tmp_path / "k.yaml"), "--quiet"]) == 1
    assert capsys.readouterr() == ("", f"{finding['text']}\n")


def test_a_kernel_without_fault_ends_with_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "vector_add"]) == 0
    assert "vector_add: nothing found; 40 workgroups, " in capsys.readouterr().out


@pytest.mark.parametrize("case", ["basic", "print"])
def test_a_program_is_checked(case: str, tmp_path: Path) -> None:
    done = run(["--check", "--json", str(tmp_path / "r.json")], PROGRAMS / "runtime", case)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["findings"] == []


def test_a_quiet_check_of_a_program_says_what_it_found(tmp_path: Path) -> None:
    options = ["--check", "--quiet", "--json", str(tmp_path / "r.json")]
    done = run(options, PROGRAMS / "runtime", "fault")
    (finding,) = json.loads((tmp_path / "r.json").read_text())["findings"]
    assert done.returncode != 0 and finding["kind"] == "fault"
    assert finding["text"] in done.stderr.splitlines()

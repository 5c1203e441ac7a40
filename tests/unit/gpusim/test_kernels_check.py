"""Does `gpusim kernels check FILE` say which kernels can be executed, and why others cannot?"""

from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from isa.object.code_object import load_code_object
from isa.object.targets import supported

KERNELS = Path(__file__).resolve().parents[2] / "data/kernels"
GRAPHICS = 0xC4000000  # exp


def damaged(tmp_path: Path) -> Path:
    """Two of jumps.hsaco's kernels begin with what is not executed."""
    data = bytearray((KERNELS / "jumps.hsaco").read_bytes())
    kernels = load_code_object(KERNELS / "jumps.hsaco").kernels
    text = data.index(kernels["forward"].code)
    for name in ("forward", "relaxed"):
        at = text + kernels[name].entry
        data[at : at + 4] = GRAPHICS.to_bytes(4, "little")
    (tmp_path / "damaged.hsaco").write_bytes(data)
    return tmp_path / "damaged.hsaco"


def test_a_file_whose_kernels_can_all_be_executed(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["kernels", "check", str(KERNELS / "jumps.hsaco")]) == 0
    assert capsys.readouterr().out == f"{KERNELS / 'jumps.hsaco'}: 6 of 6 kernels can be executed\n"


def test_reasons_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["kernels", "check", str(damaged(tmp_path))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("damaged.hsaco: 4 of 6 kernels can be executed")
    assert lines[1].startswith("  2 cannot: ") and "graphics instruction" in lines[1] and "0x" not in lines[1]
    assert lines[2].startswith("    such as forward: 0x")


def test_a_folder_with_what_is_for_another_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged(tmp_path)
    other = bytearray((KERNELS / "jumps.hsaco").read_bytes())
    other[48] = 0x31
    (tmp_path / "other.hsaco").write_bytes(other)
    (tmp_path / "text.txt").write_text("no code")
    assert invoke(["kernels", "check", "--markdown", str(tmp_path)]) == 1
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].startswith("| file | kernels |")
    assert rows[2].startswith("| `damaged.hsaco` | 6 | 4 | ")
    assert rows[3].startswith("| – ") and rows[3].endswith(" | 2 |  |  |")
    assert rows[4] == f"| `other.hsaco` | built for gfx909, not {supported()} |  |  |"
    assert len(rows) == 5


@pytest.mark.parametrize("name", ["nothing.hsaco", "empty"])
def test_what_is_not_there(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    code = invoke(["kernels", "check", str(tmp_path / name)])
    said = capsys.readouterr()
    assert code in (1, 2) and name in said.out + said.err
    assert ("cannot be read" in said.out) if name == "nothing.hsaco" else ("no file in this folder" in said.err)

"""Does the first screen of `gpusim exec` name the cause, the line and the remedy of each fault of access?"""

from pathlib import Path

import pytest
import yaml

from gpusim.cli.main import invoke

FOLDER = Path(__file__).resolve().parents[1] / "data" / "patterns"
SMALL = {"base": "mi6", "name": "small", "shader_arrays": 1, "cus_per_array": 2, "memory_mib": 16}
LINES, COLUMNS = 20, 80
# kernel: the cause and the remedy that its screen names
SAID = {
    "gemv": (
        "uncoalesced: 64 lines per load where 16 would do",
        "let neighbouring work-items access neighbouring words",
    ),
    "strided": ("uncoalesced: 32 lines per store where 4 would do", "let neighbouring work-items access"),
    "transpose": ("128 bank cycles where 4 would do", "pad rows, or swizzle addresses"),
    "divergent": ("divergence: 21.5 of 64 lanes are active", "sort them by their work"),
    "partial": ("100.0 % of the lines that stores touch are written in part", "write whole lines of 64 bytes"),
}


def screen(kernel: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The first lines that `gpusim exec` prints of a kernel of tests/data/patterns."""
    out = {"fill": 0, "dtype": "int8" if kernel == "partial" else "float32", "shape": [16384]}
    values = {"random": "uniform", "dtype": "float32", "shape": [1 << 20 if kernel == "gemv" else 1 << 14]}
    data = {
        "gpu": SMALL,
        "code_object": str(FOLDER / "patterns.hsaco"),
        "kernel": kernel,
        "global_size": [1024],
        "local_size": [256],
        "arguments": {"out": out, "a" if kernel == "gemv" else "in": values},
    }
    path = folder / "kernel.yaml"
    path.write_text(yaml.safe_dump(data))
    assert invoke(["exec", str(path)]) == 0
    return "\n".join(capsys.readouterr().out.splitlines()[:LINES])


@pytest.mark.parametrize("kernel", SAID)
def test_the_first_screen_names_cause_line_and_remedy(
    kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    said = " ".join(screen(kernel, tmp_path, capsys).split())
    lines = (FOLDER / "patterns.cl").read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if text.endswith(f"// {kernel}"))
    assert f"patterns.cl line {line}" in said
    assert all(words in said for words in SAID[kernel]), said

"""Does `gpusim disasm` print what llvm-objdump prints, and refuse what is no code object?"""

import shutil
import subprocess
from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from workloads.toolchain.build import KERNELS_DIR

OBJDUMP = next((tool for tool in ("llvm-objdump-19", "llvm-objdump") if shutil.which(tool)), None)
KERNEL_FILES = sorted(KERNELS_DIR.glob("*.hsaco"))


def code_lines(text: str) -> list[str]:
    """Instruction lines without spacing: 'mnemonic operands // address: words'."""
    return [" ".join(line.split()) for line in text.splitlines() if "// 0" in line]


@pytest.mark.skipif(OBJDUMP is None, reason="llvm-objdump is not installed")
@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda p: p.stem)
def test_same_text_as_llvm_objdump(path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["disasm", str(path)]) == 0
    ours = code_lines(capfd.readouterr().out)
    command = [str(OBJDUMP), "-d", "--mcpu=gfx803", str(path)]
    theirs = code_lines(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    # objdump also lists what no control flow reaches (padding after s_endpgm), and branch targets in <...>
    shown = {line.rpartition(" <")[0] if line.endswith(">") else line for line in theirs}
    assert ours
    assert [line for line in ours if line not in shown] == []


def test_resources_and_counts_are_told(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["disasm", str(KERNELS_DIR / "sgemm_4x4.hsaco"), "--kernel", "sgemm_4x4"]) == 0
    out = capfd.readouterr().out
    assert "; kernel sgemm_4x4, code object version 5" in out
    assert "VGPRs" in out
    assert "a_matrix: global_buffer float*, 8 bytes" in out
    assert out.count("s_endpgm") == 1


@pytest.mark.parametrize(
    ("content", "part"), [(b"", "not an ELF"), (b"\x7fELF" + bytes(100), ""), (None, "cannot be read")]
)
def test_no_code_object_is_one_line(content: bytes | None, part: str, tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "k.hsaco"
    if content is not None:
        path.write_bytes(content)
    assert invoke(["disasm", str(path)]) == 2
    err = capfd.readouterr().err
    assert err.startswith(f"gpusim: error: {path}")
    assert err.count("\n") == 1
    assert part in err


def test_unknown_kernel_is_told(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["disasm", str(KERNELS_DIR / "sgemm_4x4.hsaco"), "--kernel", "sgemm_4x5"]) == 2
    assert "did you mean 'sgemm_4x4'" in capfd.readouterr().err


def test_missing_wait_states_are_listed(capfd) -> None:  # type: ignore[no-untyped-def]
    path = Path(__file__).parents[1] / "data/kernels/operands.hsaco"  # written by hand
    assert invoke(["disasm", str(path), "--hazards"]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("operands: 0x") and "2 wait states needed after s_setreg" in line for line in lines)
    assert invoke(["disasm", str(KERNELS_DIR / "sgemm_4x4.hsaco"), "--hazards"]) == 0
    assert capfd.readouterr().out == "sgemm_4x4: no wait states are missing\n"

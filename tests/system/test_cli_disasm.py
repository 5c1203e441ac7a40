"""Does `gpusim disasm` print what llvm-objdump prints, and refuse what is no code object?"""

import shutil
import subprocess
from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from tests.support.daily import parametrize_daily
from workloads.toolchain.build import KERNELS_DIR

OBJDUMP = next((tool for tool in ("llvm-objdump-19", "llvm-objdump") if shutil.which(tool)), None)
LINES = Path(__file__).parents[1] / "data" / "lines"
# each form of an instruction is compared in test_disassembler_oracle.py; variants of a kernel, and the largest files,
# which hold many of one, have those of the others
VARIANTS = ("_rectified", "_batched", "_nnz", "_64", "_128", "_half")
KERNEL_FILES = [
    path
    for path in sorted(KERNELS_DIR.glob("*.hsaco"))
    if not path.stem.endswith(VARIANTS) and path.stat().st_size < 38_000
]


def code_lines(text: str) -> list[str]:
    """Instruction lines without spacing: 'mnemonic operands // address: words'."""
    return [" ".join(line.split()) for line in text.splitlines() if "// 0" in line]


@pytest.mark.skipif(OBJDUMP is None, reason="llvm-objdump is not installed")
@parametrize_daily("path", KERNEL_FILES, range(0, len(KERNEL_FILES), 5), ids=lambda p: p.stem)
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


def shown(capfd, *arguments: str | Path) -> list[str]:  # type: ignore[no-untyped-def]
    assert invoke(["disasm", *map(str, arguments)]) == 0
    return capfd.readouterr().out.splitlines()


@pytest.mark.parametrize("version", [4, 5])
def test_lines_are_named_where_they_change(version: int, capfd) -> None:  # type: ignore[no-untyped-def]
    lines = shown(capfd, LINES / f"lines_dwarf{version}.hsaco", "--kernel", "scale")
    named = [line for line in lines[6:] if line.startswith("; ")]
    assert named == [f"; lines.cl:{n}" if n != 3 else "; scale.h:3" for n in (5, 6, 7, 3, 7, 8)]
    after = lines[lines.index("; scale.h:3") + 1]
    assert after.lstrip().startswith("s_waitcnt vmcnt(0)")


def test_source_lines_stand_before_their_instructions(capfd) -> None:  # type: ignore[no-untyped-def]
    lines = shown(capfd, LINES / "lines_dwarf5.hsaco", "--source")
    assert "; scale.h:3                 return x * 3.0f + 0.5f;" in lines
    assert "; lines.cl:16               __builtin_amdgcn_s_barrier();" in lines
    assert not any("not found" in line or "changed" in line for line in lines)


def test_a_source_that_is_missing_or_has_changed_is_told_once(tmp_path: Path, monkeypatch, capfd) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.hsaco"
    path.write_bytes((LINES / "lines_dwarf5.hsaco").read_bytes())
    (tmp_path / "scale.h").write_text("one line\n")
    lines = shown(capfd, path, "--source", "--kernel", "scale")
    assert [line for line in lines if "not found" in line] == [
        f"; lines.cl: not found; looked in /build, {tmp_path}, ."
    ]
    assert [line for line in lines if "changed" in line] == [
        f"; scale.h: {tmp_path / 'scale.h'} has changed since it was compiled"
    ]
    assert "; lines.cl:6" in lines and "; scale.h:3" in lines


def test_source_lines_of_an_object_without_tables_are_refused(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    path = KERNELS_DIR / "sgemm_4x4.hsaco"
    assert invoke(["disasm", str(path), "--source"]) == 2
    assert capfd.readouterr().err == (
        f"gpusim: error: {path}: --source needs the object's line tables: it was compiled without -g\n"
    )
    damaged = tmp_path / "damaged.hsaco"
    whole = (LINES / "lines_dwarf4.hsaco").read_bytes()
    damaged.write_bytes(whole.replace(b".debug_abbrev", b".debug_gbbrev"))
    assert invoke(["disasm", str(damaged), "--source"]) == 2
    assert "--source needs the object's line tables: they are damaged: " in capfd.readouterr().err
    assert any(line.startswith("; its line tables cannot be read: ") for line in shown(capfd, damaged))

"""How many places does one more generation touch? Those that the page on extending counts for gfx90c and gfx902."""

from dataclasses import replace
from pathlib import Path

import pytest

from isa.encoding.control_flow import decode_kernel
from isa.object.bundle import code_objects
from isa.object.code_object import load_code_object
from isa.object.targets import GPUS_BY_MACH, supported
from isa.opcodes import ARCHITECTURES
from workloads.toolchain.build import MICROBENCH_DIR

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("gpusim", "isa", "memory", "spartan", "workloads", "sim_configs")
NAMES_OF_LLVM = "isa/object/targets.py"  # every GPU that LLVM knows, so that a message can name it
PLACES = {"isa/opcodes/architecture.py", "sim_configs/gpus/vega8.yaml"}


def naming(gpu: str) -> set[str]:
    """The product's files that name a GPU."""
    files = (
        path for package in PRODUCT for path in (ROOT / package).rglob("*") if path.suffix in (".py", ".yaml", ".txt")
    )
    return {path.relative_to(ROOT).as_posix() for path in files if gpu in path.read_text("utf-8")} - {NAMES_OF_LLVM}


def test_an_architecture_that_has_no_instruction_of_its_own_is_two_places() -> None:
    assert naming("gfx90c") == PLACES
    page = (ROOT / "docs/how-to/extending.md").read_text("utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith("| an architecture: gfx90c")]
    assert all(f"`{place}`" in row for place in PLACES)
    assert naming("gfx902") == set()


def test_a_value_is_all_that_reading_its_code_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gfx902, APUs of gfx900's instructions: a code object of it is read, and refused without the value."""
    data = bytearray((MICROBENCH_DIR / "occupancy.gfx900.hsaco").read_bytes())
    data[48] = next(number for number, name in GPUS_BY_MACH.items() if name == "gfx902")
    file = tmp_path / "code.hsaco"
    file.write_bytes(data)
    with pytest.raises(Exception, match=f"built for gfx902, not {supported()}"):
        load_code_object(file)
    gfx902 = replace(ARCHITECTURES["gfx900"], name="gfx902", target="gfx902:xnack-", version=(9, 0, 2))
    monkeypatch.setitem(ARCHITECTURES, "gfx902", gfx902)
    kernels = load_code_object(file).kernels
    assert {kernel.gpu for kernel in kernels.values()} == {"gfx902"} and "gfx902" in supported()
    assert decode_kernel(kernels["sleep_24"])[0].opcode.mnemonic == "s_sleep"
    with file.open("rb") as opened:
        assert code_objects(opened, "gfx902") == [bytes(data)]

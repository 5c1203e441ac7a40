"""Is a translation that was kept the one that was made, wherever it is laid out?"""

from dataclasses import replace

import numpy as np
import pytest

from gpusim.base.jit import records, views
from isa.encoding.decoder import decode_one
from isa.execution import kept_programs, translation
from isa.execution.constants import Constants
from isa.execution.operations import OperationTable
from isa.execution.program import build_program, lay_out
from isa.execution.program_table import PROGRAM_ROW
from isa.execution.translation import translate
from isa.lanes import library
from isa.object.code_object import Kernel, load_code_object
from tests.support.functional import KERNELS

KERNEL_LIST = [k for file in sorted(KERNELS.glob("*.hsaco"))[:6] for k in load_code_object(file).kernels.values()]
KERNEL_LIST.append(load_code_object(KERNELS / "indexed.hsaco").kernels["operands"])  # the same bytes in several modes


@pytest.mark.parametrize("kernel", KERNEL_LIST, ids=lambda k: k.name)
def test_packing_loses_nothing(kernel: Kernel) -> None:
    made = translate(kernel, build_program(kernel).instructions)
    held = kept_programs.unpacked(kept_programs.packed(made))
    assert held.operations == made.operations and held.table.dtype == made.table.dtype
    assert held.table.tobytes() == made.table.tobytes()
    for name in ("index_of", "indexed_from", "with_patterns", "start_index", "end_index", "vgprs", "patterns"):
        assert np.array_equal(getattr(held, name), getattr(made, name)), name
    for name in ("rows", "words", "in_rows", "in_words"):
        assert np.array_equal(getattr(held.constants, name), getattr(made.constants, name)), name
    first, second = lay_out(kernel, made), lay_out(kernel, held)
    for column in first.table.dtype.names or ():
        if column != "source":  # constants lie elsewhere each time
            assert np.array_equal(first.table[column], second.table[column]), column
    assert first.instructions == second.instructions
    assert np.array_equal(first.unit_prefix, second.unit_prefix)


@pytest.mark.parametrize("kernel", KERNEL_LIST, ids=lambda k: k.name)
def test_a_program_takes_no_space_for_other_kernels_of_its_text(kernel: Kernel) -> None:
    """In a text of a megabyte more before and behind it, the index is that of the kernel alone."""
    alone, more = build_program(kernel), 1 << 20
    other = b"\xff" * more  # that decodes to no instruction
    moved = {"entry": kernel.entry + more, "code_end": kernel.code_end + more if kernel.code_end else 0}
    among = replace(
        kernel,
        code=other + kernel.code + other,
        code_address=kernel.code_address - more,
        functions=tuple(one + more for one in kernel.functions),
        code_pointers=tuple(one + more for one in kernel.code_pointers),
        **moved,  # type: ignore[arg-type]
    )
    found = build_program(among)
    assert np.array_equal(found.index_of, alone.index_of) and found.indexed_from == alone.indexed_from + more
    assert found.start_index == alone.start_index and np.array_equal(found.table["target"], alone.table["target"])
    assert found.index_of[0] == 0 and found.index_of[-1] == len(found.instructions) - 1


def test_a_kernel_is_translated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: dict[str, bytes] = {}
    monkeypatch.setattr(kept_programs, "JIT_DISABLED", False)
    monkeypatch.setattr(kept_programs, "keep", programs.__setitem__)
    monkeypatch.setattr(kept_programs, "read_cached", programs.get)
    kernel = max(KERNEL_LIST, key=lambda k: len(k.code))
    monkeypatch.setattr(kept_programs, "LEAST_CODE_BYTES", 1)
    first = kept_programs.program(kernel)
    assert len(programs) == 1
    monkeypatch.setattr(kept_programs, "translate", None)  # not called again
    again = kept_programs.program(kernel)
    assert np.array_equal(again.table["kind"], first.table["kind"]) and again.vgprs == first.vgprs
    assert again.instructions == first.instructions
    monkeypatch.setattr(kept_programs, "LEAST_CODE_BYTES", 1 << 30)
    assert np.array_equal(kept_programs.program(kernel).table["kind"], first.table["kind"])


def test_what_changes_a_translation_changes_its_name() -> None:
    kernel = KERNEL_LIST[0]
    others = [
        replace(kernel, code=kernel.code + b"\0\0\0\0"),
        replace(kernel, float_mode=kernel.float_mode ^ 0x30),
        replace(kernel, vgprs=kernel.vgprs + 4),
        replace(kernel, ieee_mode=not kernel.ieee_mode),
    ]
    names = {kept_programs._identity(k) for k in (kernel, *others)}
    assert len(names) == 1 + len(others)
    assert kept_programs._identity(replace(kernel, name="another")) in names


@pytest.mark.parametrize("kernel", KERNEL_LIST, ids=lambda k: k.name)
def test_instructions_that_are_repeated_are_as_if_read_and_translated_each(kernel: Kernel) -> None:
    made = build_program(kernel).instructions
    for instruction in made:
        alone = decode_one(
            kernel.code, kernel.code_address, instruction.address - kernel.code_address, len(kernel.code)
        )
        assert replace(instruction, jump_targets=()) == alone
    lanes, constants = OperationTable(library()), Constants()
    rows = records(PROGRAM_ROW, len(made))
    mode = None if any(map(translation._writes_mode, made)) else translation.initial_mode(kernel)
    indexed = translation._indexed_operands(kernel, made)
    for constants.row_number, (instruction, row) in enumerate(zip(made, views(rows), strict=True)):
        translation._fill(row, instruction, constants, lanes, kernel, mode, indexed[constants.row_number])
    whole = translate(kernel, made)
    assert whole.operations == lanes.operations
    for column in set(rows.dtype.names or ()) - {"unit", "target", "next_byte", "patterns"}:
        assert np.array_equal(rows[column], whole.table[column]), column
    for name in ("rows", "words", "in_rows", "in_words"):
        assert np.array_equal(getattr(constants.values(), name), getattr(whole.constants, name)), name

"""Is a translation that was kept the one that was made, wherever it is laid out?"""

import numpy as np
import pytest

from isa.execution import kept_programs
from isa.execution.program import build_program, lay_out
from isa.execution.translation import translate
from isa.object.code_object import Kernel, load_code_object
from tests.support.functional import KERNELS

KERNEL_LIST = [k for file in sorted(KERNELS.glob("*.hsaco"))[:6] for k in load_code_object(file).kernels.values()]
ADDRESSES = ("source",)


@pytest.mark.parametrize("kernel", KERNEL_LIST, ids=lambda k: k.name)
def test_packing_loses_nothing(kernel: Kernel) -> None:
    made = translate(kernel, build_program(kernel).instructions)
    held = kept_programs.unpacked(kept_programs.packed(made))
    assert held.operations == made.operations and held.table.dtype == made.table.dtype
    assert held.table.tobytes() == made.table.tobytes()
    for name in ("index_of", "with_patterns", "start_index", "end_index", "vgprs", "patterns"):
        assert np.array_equal(getattr(held, name), getattr(made, name)), name
    for name in ("rows", "words", "in_rows", "in_words"):
        assert np.array_equal(getattr(held.constants, name), getattr(made.constants, name)), name
    first, second = lay_out(kernel, made), lay_out(kernel, held)
    for column in first.table.dtype.names or ():
        if column != "source":  # constants lie elsewhere each time
            assert np.array_equal(first.table[column], second.table[column]), column
    assert first.instructions == second.instructions
    assert np.array_equal(first.unit_prefix, second.unit_prefix)


def test_a_large_kernel_is_translated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf: dict[str, bytes] = {}
    monkeypatch.setattr(kept_programs, "JIT_DISABLED", False)
    monkeypatch.setattr(kept_programs, "keep", shelf.__setitem__)
    monkeypatch.setattr(kept_programs, "kept", shelf.get)
    kernel = max(KERNEL_LIST, key=lambda k: len(k.code))
    monkeypatch.setattr(kept_programs, "LARGE_CODE_BYTES", 1)
    first = kept_programs.program(kernel)
    assert len(shelf) == 1
    monkeypatch.setattr(kept_programs, "translate", None)  # not called again
    again = kept_programs.program(kernel)
    assert np.array_equal(again.table["kind"], first.table["kind"]) and again.vgprs == first.vgprs
    assert again.instructions == first.instructions
    monkeypatch.setattr(kept_programs, "LARGE_CODE_BYTES", 1 << 30)
    assert np.array_equal(kept_programs.program(kernel).table["kind"], first.table["kind"])


def test_what_changes_a_translation_changes_its_name() -> None:
    from dataclasses import replace

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

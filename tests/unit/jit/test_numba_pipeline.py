"""The core's pipeline: Numba's own without passes that it has; operations are found by the types of their arguments."""

import pytest
from numba.core.compiler import DefaultPassBuilder, Flags, StateDict
from numba.core.compiler_machinery import PassManager

from gpusim.base.jit import JIT_DISABLED, Field, State, jit, new_record, numba_hooks, record_dtype
from gpusim.base.jit import functions as functions_module
from gpusim.base.jit.compile import compile_functions
from gpusim.base.jit.numba_hooks import CorePipeline

PART = State("part", {"row": Field((8,), "numbers"), "share": Field((8,), "numbers", "f8")})


def before_anything() -> StateDict:
    state = StateDict()
    state.flags, state.func_ir = Flags(), None
    return state


def whole() -> PassManager:
    return DefaultPassBuilder.define_nopython_pipeline(before_anything())


def test_each_pass_that_is_left_out_is_one_of_numba_s() -> None:
    assert set(numba_hooks._LEFT_OUT) - {step[0] for step in whole().passes} == set()


def test_the_other_passes_stay_in_their_order() -> None:
    pipeline = CorePipeline.__new__(CorePipeline)
    pipeline.state = before_anything()
    (core,) = pipeline.define_pipelines()
    left_out = numba_hooks._LEFT_OUT
    assert [step[0] for step in core.passes] == [step[0] for step in whole().passes if step[0] not in left_out]


def mixed(m, k):  # type: ignore[no-untyped-def]
    """The same operations on integers and on real numbers, between them and with constants."""
    m.part.share[k] = m.part.share[k] * 0.5 + k
    m.part.row[k] = m.part.row[k] * 5 + k
    m.part.share[k + 1] = m.part.row[k] * 0.25 + m.part.share[k]
    return m.part.row[k] // 2 + max(k, 3) + min(m.part.row[k], k)


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_an_operation_is_that_of_its_arguments_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions_module, "_registered", {"isa": [], "timing": []})
    dtype = record_dtype([PART])
    compiled, plain = new_record(dtype), new_record(dtype)
    for record in (compiled, plain):
        record.part.row[:], record.part.share[:] = range(8), 1.5
    function = jit(mixed)
    compile_functions([function], compiled)
    assert function(compiled, 2) == mixed(plain, 2)
    assert compiled.part.row.tolist() == plain.part.row.tolist()
    assert compiled.part.share.tolist() == plain.part.share.tolist()

"""What every operator has to do, as a test class: a module gives it a list of cases, one line an operator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gpusim.core.cu.spec import SIMDS
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.simulator import simulate
from gpusim.host.command_processor import execute
from gpusim.jit import JIT_DISABLED
from gpusim.running.operators import gpu_facts
from isa.device_memory import DeviceMemory
from spartan.engine_spec import EngineSpec
from workloads.operators.operator import GpuFacts, Operator, before, overwritten
from workloads.operators.verify import verify

MEMORY_BYTES = 1 << 24
GPU = GpuSpec()
POISON = 0x5A
LANES = 16  # of a SIMD
compiled_only = pytest.mark.skipif(JIT_DISABLED, reason="minutes in plain Python; compiled it is the same code")

Builder = Callable[[DeviceMemory, GpuFacts], Operator]


@dataclass(frozen=True)
class OperatorCase:
    """An operator of a shape. build: with operands of its own; refused: others that are not to be built, with a part
    of what the user is told."""

    name: str
    build: Builder
    refused: tuple[tuple[Builder, str], ...] = ()


def built(case: OperatorCase) -> Operator:
    """The operator, its outputs full of what no kernel computes, but for those that lie where an operand does."""
    operator = case.build(DeviceMemory(MEMORY_BYTES), gpu_facts(GPU))
    for output in operator.outputs.values():
        if not any(np.may_share_memory(output, operand) for operand in operator.inputs.values()):
            output[...] = np.frombuffer(bytes([POISON]) * output.itemsize, output.dtype)[0]
    return operator


def copies(arrays: Any) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in arrays.items()}


class OperatorContract:
    """Subclass it as Test..., parametrised over `case`."""

    def test_executed_results_equal_numpy_and_operands_stay(self, case: OperatorCase) -> None:
        operator = built(case)
        inputs = copies(operator.inputs)
        for launch in operator.launches:
            execute(launch)
        checked = verify(operator, inputs)
        assert checked.passed, checked.mismatches
        assert checked.max_error <= checked.bound
        for name in set(inputs) - set(overwritten(operator)):
            np.testing.assert_array_equal(operator.inputs[name], inputs[name])

    def test_the_counted_work_is_the_closed_form_s(self, case: OperatorCase) -> None:
        operator = built(case)
        work = operator.work
        done = [execute(launch) for launch in operator.launches]
        assert sum(d.store_bytes for d in done) == work.stored_bytes
        kept_bytes = getattr(getattr(operator, "primitive", None), "kept_bytes", 0)
        assert work.written_bytes == sum(output.nbytes for output in operator.outputs.values()) - kept_bytes
        assert work.written_bytes <= work.stored_bytes
        assert work.read_bytes <= sum(array.nbytes for array in operator.inputs.values())
        assert work.needed_macs <= work.macs
        # a lane of a vector instruction is at most one multiply-accumulate, or two other operations (v_max3_f32)
        assert work.needed_macs + work.operations / 2 <= 64 * sum(d.instructions["valu"] for d in done)

    @compiled_only
    def test_timed_it_computes_the_same_and_beats_no_roofline(self, case: OperatorCase) -> None:
        executed = built(case)
        for launch in executed.launches:
            execute(launch)
        operator = built(case)
        inputs = before(operator)
        spec = EngineSpec()
        # checked: conservation laws, and the rooflines of what the kernels did
        facts = [simulate(launch, GPU, spec if launch.regions else None, checked=True) for launch in operator.launches]
        assert verify(operator, inputs).passed
        for name, array in operator.outputs.items():
            np.testing.assert_array_equal(array, executed.outputs[name])
        work, cycles = operator.work, sum(f.cycles for f in facts)
        assert cycles >= work.needed_macs / (GPU.cus * SIMDS * LANES)
        assert cycles >= work.read_bytes / (GPU.dram.bytes_per_s / GPU.clock_hz)
        assert 64 * sum(f.dram.reads for f in facts) >= work.read_bytes  # caches are empty at first
        uses_engine = any(launch.regions for launch in operator.launches)
        assert any(f.engine is not None for f in facts) == uses_engine

    def test_one_wrong_element_is_found_and_named(self, case: OperatorCase) -> None:
        operator = built(case)
        inputs = before(operator)
        for launch in operator.launches:
            execute(launch)
        for name, output in operator.outputs.items():
            last = tuple(size - 1 for size in output.shape)
            held = output[last]
            output[last] = held + 1 if held < 100 else 0
            checked = verify(operator, inputs)
            assert not checked.passed
            (mismatch,) = checked.mismatches
            assert (mismatch.output, mismatch.index, mismatch.wrong) == (name, last, 1)
            output[last] = held
        assert verify(operator, inputs).passed

    def test_what_it_cannot_compute_is_refused_by_name(self, case: OperatorCase) -> None:
        for build, part in case.refused:
            with pytest.raises(Exception) as caught:
                build(DeviceMemory(MEMORY_BYTES), gpu_facts(GPU))
            assert part in str(caught.value)
            assert "\n" not in str(caught.value)

"""What every operator has to do, as a test class: a module gives it a list of cases, one line an operator."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from gpusim.jobs.host.command_processor import execute
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from isa.device_memory import DeviceMemory
from isa.execution.emulator import FunctionalResult
from spartan.engine_spec import EngineSpec
from workloads.operators.operator import GpuFacts, Operator, overwritten
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
    of what the user is told; gpu: that it is for; lane_macs: multiply-accumulates of a lane of one instruction."""

    name: str
    build: Builder
    refused: tuple[tuple[Builder, str], ...] = ()
    gpu: GpuSpec = GPU
    lane_macs: int = 1

    @property
    def memory(self) -> DeviceMemory:
        """A fresh memory of the GPU."""
        return DeviceMemory(MEMORY_BYTES, architecture=self.gpu.architecture)


def built(case: OperatorCase) -> Operator:
    """The operator, its outputs full of what no kernel computes, but for those that lie where an operand does."""
    operator = case.build(case.memory, gpu_facts(case.gpu))
    for output in operator.outputs.values():
        if not any(np.may_share_memory(output, operand) for operand in operator.inputs.values()):
            output[...] = np.frombuffer(bytes([POISON]) * output.itemsize, output.dtype)[0]
    return operator


def copies(arrays: Any) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in arrays.items()}


class OperatorContract:
    """Subclass it as Test..., parametrised over `case`.

    One test for all that is asked of a case: what is executed once is looked at from every side.
    """

    def test_it_is_kept(self, case: OperatorCase) -> None:
        operator = built(case)
        inputs = copies(operator.inputs)
        done = [execute(launch) for launch in operator.launches]
        _computes_what_numpy_does_and_leaves_its_operands(operator, inputs)
        _counts_the_work_of_the_closed_form(operator, done, case.lane_macs)
        _is_found_out_if_one_element_is_wrong(operator, inputs)
        _is_refused_by_name(case)
        if JIT_DISABLED:
            pytest.skip("timed it would take minutes in plain Python; compiled it is the same code")
        _computes_the_same_when_timed_and_beats_no_roofline(case, operator.outputs)


def _computes_what_numpy_does_and_leaves_its_operands(operator: Operator, inputs: dict[str, np.ndarray]) -> None:
    checked = verify(operator, inputs)
    assert checked.passed, checked.mismatches
    assert checked.max_error <= checked.bound
    for name in set(inputs) - set(overwritten(operator)):
        np.testing.assert_array_equal(operator.inputs[name], inputs[name])


def _counts_the_work_of_the_closed_form(operator: Operator, done: list[FunctionalResult], lane_macs: int) -> None:
    work = operator.work
    assert sum(d.store_bytes for d in done) == work.stored_bytes
    kept_bytes = getattr(getattr(operator, "primitive", None), "kept_bytes", 0)
    assert work.written_bytes == sum(output.nbytes for output in operator.outputs.values()) - kept_bytes
    assert work.written_bytes <= work.stored_bytes
    assert work.read_bytes <= sum(array.nbytes for array in operator.inputs.values())
    assert work.needed_macs <= work.macs
    # a lane of a vector instruction is at most one multiply-accumulate, or two other operations (v_max3_f32); one of a
    # matrix product is more
    assert work.needed_macs + work.operations / 2 <= lane_macs * 64 * sum(d.instructions["valu"] for d in done)


def _is_found_out_if_one_element_is_wrong(operator: Operator, inputs: dict[str, np.ndarray]) -> None:
    """The last one of every output."""
    last = {name: tuple(size - 1 for size in output.shape) for name, output in operator.outputs.items()}
    right = {name: operator.outputs[name][at] for name, at in last.items()}
    for name, value in right.items():
        operator.outputs[name][last[name]] = value + 1 if value < 100 else 0
    mismatches = verify(operator, inputs).mismatches
    assert {one.output: (one.index, one.wrong) for one in mismatches} == {name: (at, 1) for name, at in last.items()}
    for name, value in right.items():
        operator.outputs[name][last[name]] = value


def _is_refused_by_name(case: OperatorCase) -> None:
    for build, part in case.refused:
        with pytest.raises(Exception) as caught:
            build(case.memory, gpu_facts(case.gpu))
        assert part in str(caught.value)
        assert "\n" not in str(caught.value)


def _computes_the_same_when_timed_and_beats_no_roofline(case: OperatorCase, executed: Mapping[str, np.ndarray]) -> None:
    operator = built(case)
    spec, gpu = EngineSpec(), case.gpu
    # checked: conservation laws, and the rooflines of what the kernels did
    facts = [simulate(launch, gpu, spec if launch.regions else None, checked=True) for launch in operator.launches]
    for name, array in operator.outputs.items():
        np.testing.assert_array_equal(array, executed[name])
    work, cycles = operator.work, sum(f.cycles for f in facts)
    assert cycles >= work.needed_macs / (case.lane_macs * gpu.cus * SIMDS * LANES)
    assert cycles >= work.read_bytes / (gpu.dram.bytes_per_s / gpu.clock_hz)
    assert 64 * sum(f.dram.reads for f in facts) >= work.read_bytes  # caches are empty at first
    uses_engine = any(launch.regions for launch in operator.launches)
    assert any(f.engine is not None for f in facts) == uses_engine

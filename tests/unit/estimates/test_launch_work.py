"""Is what a launch asks for counted as executing all of it counts, and do bounds stay below simulated cycles?"""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pytest

from gpusim.jobs.demand import launch_work as module
from gpusim.jobs.demand.launch_work import LaunchWork, launch_work
from gpusim.jobs.estimates.bounds import bounds
from gpusim.jobs.estimates.fitted import load_fitted
from gpusim.jobs.estimates.launches import LaunchDemand, moved_bytes
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import occupancy
from gpusim.model.core.simulator import simulate
from isa.device_memory import DeviceMemory
from isa.execution import counting
from isa.execution.control_slice import BLOCKS, ControlSliceError
from isa.execution.counting import executed_kinds, kinds_counted
from isa.execution.emulator import run_functional
from isa.execution.executor import program_of
from isa.execution.faults import ExecutionFault
from isa.opcodes.opcode import LDS, SALU, SMEM
from workloads.operators.activation import ActivationForward
from workloads.operators.conv_implicit import ImplicitBackwardWeights, ImplicitForward
from workloads.operators.convolution import Convolution
from workloads.operators.operator import GpuFacts
from workloads.operators.pooling import Pooling, PoolingForward
from workloads.operators.primitive import Primitive, TensorOperator, build

pytestmark = pytest.mark.compiled_tier
GPU = GpuSpec()
CONVOLUTION = Convolution((2, 8, 12, 12), 24, (3, 3), padding=(1, 1, 1, 1))
PRIMITIVES: Sequence[Primitive] = (
    ActivationForward("relu", (3, 7, 50, 50)),  # its last workgroup has less to do
    PoolingForward(Pooling("max", (3, 3), (2, 2)), (2, 8, 17, 17)),
    ImplicitForward(CONVOLUTION),
    ImplicitBackwardWeights(CONVOLUTION),
)


def operator(primitive: Primitive) -> TensorOperator:
    return build(primitive, DeviceMemory(1 << 24), GpuFacts(GPU.cus, GPU.cu.lds_kib << 10))


@pytest.mark.parametrize(("groups", "waves"), [(1, 1), (5, 3), (64, 4), (65, 1), (200, 6), (512, 16)])
def test_the_simd_with_most_wavefronts_bounds_a_launch(groups: int, waves: int) -> None:
    """Workgroups go to compute units by turns, and a unit's wavefronts to its SIMDs."""
    cycles = 1000.0  # of a wavefront
    taken = np.zeros((GPU.cus, 4))
    for group in range(groups):
        for _ in range(waves):
            unit = taken[group % GPU.cus]
            unit[np.argmin(unit)] += cycles
    counts = {one.name: 0.0 for one in fields(LaunchWork)}
    counts |= {"workgroups": groups, "wavefronts": waves, "valu_cycles": cycles * groups * waves, "code_lines": 1.0}
    found = bounds(LaunchDemand(work=LaunchWork(**counts), read_bytes=0.0, written_bytes=0.0, resident=1), GPU)
    assert found.least["valu"] == pytest.approx(taken.max())


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda one: one.name)
def test_counts_are_those_of_the_whole_launch_and_bounds_below_its_cycles(primitive: Primitive) -> None:
    correction, one = load_fitted().correction, operator(primitive)
    for number, launch in enumerate(one.launches):
        found = launch_work(launch, GPU)
        whole = run_functional(launch)
        assert found.counted
        assert found.instructions == pytest.approx(whole.wavefront_instructions, rel=0.03)
        assert found.scalar_instructions == pytest.approx(
            whole.instructions["salu"] + whole.instructions["smem"], rel=0.03
        )
        lines = sum(whole.lines[kind] for kind in ("load", "store", "atomic"))
        assert found.load_lines + found.store_lines == pytest.approx(lines, rel=0.5, abs=64)  # of one workgroup's first
        assert found.missed_lines <= found.load_lines
        assert found.lds_cycles == pytest.approx(whole.lds_cycles, rel=0.25)
        asked = LaunchDemand(found, *moved_bytes(one)[number], occupancy(launch, GPU.cu).workgroups_per_cu)
        limits, facts = bounds(asked, GPU), simulate(launch, GPU)
        # groups that are not looked at may do less: the first and the last one stand for themselves alone
        assert limits.most <= 1.03 * facts.cycles
        assert correction.cycles(asked, launch.kernel.name, GPU).cycles >= limits.most
        assert limits.least["dispatch"] == facts.roofline.dispatch
        assert limits.likely["l2"] == pytest.approx(facts.roofline.l2, rel=0.6, abs=64)


def test_a_load_is_seen_once() -> None:
    """A functional run shows its last slice twice, and a short kernel's is its only one."""
    elements = 1 << 16
    (launch,) = operator(ActivationForward("relu", (4, elements // 4))).launches
    found = launch_work(launch, GPU)
    assert (found.load_lines, found.store_lines) == (elements * 4 / 64, elements * 4 / 64)


def test_a_kernel_that_cannot_be_sliced_is_executed_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = operator(PRIMITIVES[1]).launches[0]
    kernel = launch.kernel
    units = np.array([one.opcode.unit for one in program_of(kernel).instructions])
    kinds = np.zeros((len(units), BLOCKS), np.int64)
    kinds[:, 0], kinds[:, 1], kinds[:, 2] = 1, (units == SALU) | (units == SMEM), units == LDS
    sliced = executed_kinds(launch, kinds_counted(kernel, kinds), [0, 2])

    def refuse(_: object) -> None:
        raise ControlSliceError("for the test")

    monkeypatch.setattr(counting, "control_slice", refuse)
    assert np.array_equal(executed_kinds(launch, kinds_counted(kernel, kinds), [0, 2]), sliced)
    assert sliced[:, 0].min() > 0


def test_a_kernel_that_cannot_be_executed_is_counted_once_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = operator(PRIMITIVES[0]).launches[0]

    class Fault(ExecutionFault):
        def __init__(self) -> None:
            pass

    def fail(*_: object) -> None:
        raise Fault

    monkeypatch.setattr(module, "executed_kinds", fail)
    found = launch_work(launch, GPU)
    x, y, z = launch.workgroups
    static = len(program_of(launch.kernel).instructions)
    assert not found.counted
    assert found.instructions == static * x * y * z * launch.wavefronts_per_workgroup


def test_arrays_by_chunks_count_once() -> None:
    one = operator(ImplicitForward(CONVOLUTION))
    read, written = (sum(sizes) for sizes in zip(*moved_bytes(one), strict=True))
    work = one.primitive.work
    assert written >= work.written_bytes and read >= work.read_bytes
    assert written <= work.stored_bytes + work.read_bytes and read <= 2 * (work.read_bytes + work.stored_bytes)

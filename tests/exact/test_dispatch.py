"""Exact cases of dispatch: engines side by side, the rate of launches, the order over compute units."""

import pytest

from gpusim.model.core.cu.configure import cu_order
from gpusim.model.core.cu.dispatch_order import ORDERS
from gpusim.model.core.cu.dispatch_spec import DispatchSpec
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.loop import FINISHED
from tests.exact.machine import finished, turn
from tests.support.machines import altered
from tests.support.scripted import Script, ScriptedRun

SLEEP_CYCLES = 500


def sleepers(gpu: GpuSpec, groups: int, wavefronts: int = 1, most: int = 16, **dispatch: int | str) -> ScriptedRun:
    """Workgroups of wavefronts that stay for a while, on a machine with this dispatcher. most: of them on a CU."""
    machine = altered(gpu, dispatch=dispatch)
    script = Script().nop(SLEEP_CYCLES).end()
    return ScriptedRun(machine, [[script] * wavefronts] * groups, workgroups_per_cu=most)


def resident(run: ScriptedRun) -> list[int]:
    """Workgroups on each CU."""
    return [int(n) for n in run.m.cu.wg_resident[: run.m.cu.cus]]


@pytest.mark.parametrize("engines", [1, 2, 4])
def test_each_engine_launches_a_wavefront_at_a_time(gpu: GpuSpec, engines: int) -> None:
    # four CUs; workgroup k is the (k / engines)-th of its engine, whose launches follow one another
    wavefronts, groups = 3, 8
    run = sleepers(gpu, groups, wavefronts, shader_engines=engines)
    each = wavefronts * gpu.dispatch.wavefront_cycles
    for launched in range(engines, groups + 1, engines):
        run.go(((launched // engines) - 1) * each + 1)
        assert sum(resident(run)) == int(run.m.run.next_workgroup) == launched
        run.go((launched // engines) * each)  # up to the cycle before the next launch
        assert int(run.m.run.next_workgroup) == launched
    assert run.go() == FINISHED
    begins = (groups // engines - 1) * each + gpu.cu.launch_cycles
    last = max(turn(turn(begins, simd) + 1 + SLEEP_CYCLES, simd) for simd in range(SIMDS))
    assert run.cycles <= finished(last)


def test_a_dispatcher_without_limit_launches_all_at_once(gpu: GpuSpec) -> None:
    run = sleepers(gpu, 12, wavefront_cycles=0)
    run.go(1)
    assert resident(run) == [3, 3, 3, 3]


def test_an_engine_without_space_leaves_workgroups_to_the_others(gpu: GpuSpec) -> None:
    # two workgroups fit a CU; two engines of two CUs: all four CUs fill up, then the fifth pair of workgroups waits
    run = sleepers(gpu, 10, most=2, shader_engines=2, wavefront_cycles=1)
    run.go(20)
    assert resident(run) == [2, 2, 2, 2]
    assert run.go() == FINISHED
    assert int(run.m.run.done) == 10


@pytest.mark.parametrize("order", ORDERS)
def test_orders(gpu: GpuSpec, order: str) -> None:
    # six workgroups on four CUs of one engine, four of which fit a CU: CU 0 comes first, then CU 2 of the other array
    run = sleepers(gpu, 6, most=4, shader_engines=1, wavefront_cycles=0, order=order)
    run.go(1)
    assert resident(run) == {"round_robin": [2, 1, 2, 1], "first": [4, 0, 2, 0], "emptiest": [2, 1, 2, 1]}[order]


def test_the_emptiest_is_not_who_comes_next(gpu: GpuSpec) -> None:
    # the first four go to CUs 0, 2, 1, 3, of which that on CU 2 ends at once. Round robin goes on with CUs 0, 2, 1; the
    # other order with CU 2, which is empty, and then from there with CUs 1 and 3
    scripts = [Script().nop(SLEEP_CYCLES).end() for _ in range(7)]
    scripts[1] = Script().end()
    found = {}
    for order in ("round_robin", "emptiest"):
        dispatch = {"shader_engines": 1, "wavefront_cycles": 50, "order": order}
        run = ScriptedRun(altered(gpu, dispatch=dispatch), [[script] for script in scripts])
        run.go(6 * 50 + 1)
        found[order] = resident(run)
    assert found == {"round_robin": [2, 2, 1, 1], "emptiest": [1, 2, 1, 2]}


def test_the_order_of_compute_units() -> None:
    # one engine: a CU of each array in turn, as before there were engines; four: an engine's CU in turn
    assert cu_order(1, 6, 2) == [0, 2, 4, 1, 3, 5]
    assert cu_order(4, 8, 2) == [0, 2, 4, 6, 1, 3, 5, 7]
    for engines, cus, cus_per_array in ((4, 36, 4), (4, 64, 4), (3, 10, 5), (64, 64, 16)):
        order = cu_order(engines, cus, cus_per_array)
        assert sorted(order) == list(range(cus))
        rows = [order[k : k + engines] for k in range(0, cus - engines, engines)]
        assert all(len({cu * engines // cus for cu in row}) == engines for row in rows)


def test_shipped_gpus_have_four_engines() -> None:
    assert DispatchSpec().shader_engines == 4


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("arrays", [16, 17, 30, 32])
def test_machines_of_more_compute_units_than_a_word_of_a_mask_has_bits(gpu: GpuSpec, arrays: int, order: str) -> None:
    # at most two workgroups on a CU; half as many again as there are CUs, in the order of their positions
    machine = GpuSpec.model_validate({**dict(gpu), "shader_arrays": arrays, "cus_per_array": 4})
    groups = machine.cus * 3 // 2
    run = sleepers(machine, groups, most=2, shader_engines=1, wavefront_cycles=0, order=order)
    run.go(1)
    positions = cu_order(1, machine.cus, 4)
    taken = positions + positions if order != "first" else [cu for cu in positions for _ in range(2)]
    expected = [taken[:groups].count(cu) for cu in range(machine.cus)]
    assert resident(run) == expected
    assert run.go() == FINISHED
    assert int(run.m.run.done) == groups

"""Are iterations passed over within workgroups where that may be asked for, and does the bar hold the truth?"""

from functools import partial

import pytest

from gpusim.lab.checks.sampling.cases import product
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import ITERATIONS, WHOLE
from gpusim.model.core.simulator import simulate
from gpusim.model.sampling.sampler import LaunchSampler, sampled
from gpusim.model.sampling.spec import SamplingSpec
from isa.execution.faults import FAULT_PASSAGE, ExecutionFault

pytestmark = pytest.mark.compiled_tier
SIZES = (64, 256, 9408)


def run(spec: SamplingSpec | None, *sizes: int) -> RunFacts:
    prepared = product("mi6", *sizes)
    run = partial(simulate, prepared.launch, prepared.gpu)
    return run() if spec is None else sampled(lambda steerer: run(steerer=steerer), spec)


@pytest.mark.parametrize(
    ("spec", "within"),
    [
        (SamplingSpec(), False),
        (SamplingSpec(error=0.029), False),
        (SamplingSpec(error=0.03), True),
        (SamplingSpec(within=True), True),
        (SamplingSpec(error=0.05, within=False), False),
    ],
)
def test_the_tier_is_asked_for_by_an_error_or_by_name(spec: SamplingSpec, within: bool) -> None:
    assert spec.goes_within is within


def test_the_truth_lies_within_the_bar_of_a_launch_in_part() -> None:
    found, whole = run(SamplingSpec(error=0.03), *SIZES), run(None, *SIZES)
    held = found.sampling
    assert held is not None and held.method == ITERATIONS and not held.complete
    assert held.fraction < 0.7 and held.reason.startswith("within workgroups: ")
    assert found.kernel.wavefront_instructions == whole.kernel.wavefront_instructions
    assert found.kernel.workgroups == whole.kernel.workgroups
    apart = abs(found.cycles - whole.cycles)
    assert apart <= held.half_width("kernel", "cycles") < 0.08 * whole.cycles
    assert held.half_width("kernel", "wavefront_instructions") < 1e-6 * whole.kernel.wavefront_instructions


def test_results_that_are_asked_for_keep_a_launch_whole() -> None:
    held = run(SamplingSpec(error=0.03, functional=True), 64, 64, 640).sampling
    assert held is not None and held.method == WHOLE and held.complete
    assert held.reason.endswith("nor within workgroups: its results are asked for")


def test_short_loops_are_not_passed_over() -> None:
    held = run(SamplingSpec(error=0.03), 64, 64, 128).sampling
    assert held is not None and held.method == WHOLE
    assert "nor within workgroups: " in held.reason and "iterations of its loop are too few" in held.reason


def test_a_loop_that_proves_another_is_sampled_anew_by_whole_workgroups() -> None:
    seen: list[LaunchSampler] = []

    def fails_once(steerer: LaunchSampler) -> RunFacts:
        seen.append(steerer)
        if len(seen) == 1:
            raise ExecutionFault(FAULT_PASSAGE, "k", 0, "s_nop", 0, 0, -1, None, 0, "")
        prepared = product("mi6", *SIZES)
        return simulate(prepared.launch, prepared.gpu, steerer=steerer)

    held = sampled(fails_once, SamplingSpec(error=0.03)).sampling
    assert held is not None and held.method == WHOLE
    assert held.reason.endswith("wavefronts go through its loop in different ways")
    assert not held.complete  # the run before has written to memory

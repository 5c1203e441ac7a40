"""Does a survey see what addresses do, all over the grid, and leave memory as it is?"""

import numpy as np
import pytest

from gpusim.lab.checks.sampling.generated import KINDS, PLACES, generated_cases
from gpusim.model.core.simulator import simulate
from gpusim.model.sampling.sampler import sampled
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.survey import survey
from isa.execution.survey import WorkgroupAccesses, surveyed_accesses

pytestmark = pytest.mark.compiled_tier
SEED, COUNT = 1, 54


def test_a_seed_decides_a_suite_of_all_kinds() -> None:
    cases = generated_cases(SEED, COUNT)
    assert [case.what for case in cases] == [case.what for case in generated_cases(SEED, COUNT)]
    assert {case.kind for case in cases} == set(KINDS) and len({case.name for case in cases}) == COUNT
    assert all(any(place in case.what for case in cases) for place in PLACES)
    assert [case.what for case in cases] != [case.what for case in generated_cases(SEED + 1, COUNT)]


@pytest.mark.parametrize("kind", ["banks", "atomics"])
def test_a_change_of_addresses_alone_is_seen_and_nothing_is_written(kind: str) -> None:
    (case,) = [one for one in generated_cases(SEED, 9) if one.kind == kind]
    launch = case.make().launch
    memory = launch.memory
    before = [(one, memory.view(one).copy()) for one in memory.allocations]
    total = launch.workgroups[0]
    seen = survey(total, lambda chosen: surveyed_accesses(launch, chosen), np.random.default_rng(1))
    assert len(seen.workgroups) >= 64 and not seen.refusal
    cuts = seen.cuts()
    assert cuts and all(0 < cut < total for cut in cuts), f"{case.what}: where does what it touches change?"
    assert all(np.array_equal(memory.view(allocation), held) for allocation, held in before)


def places(first_lines: np.ndarray, step: int, count: int = 64) -> list[WorkgroupAccesses]:
    """Return workgroups that access 64 lines each, `step` apart."""
    none = np.zeros(0, np.int64)
    return [
        WorkgroupAccesses(number, 1, 64, 0, 0, first + step * np.arange(64), none, none, none)
        for number, first in enumerate(first_lines[:count])
    ]


@pytest.mark.parametrize(("step", "camped"), [(64, True), (32, True), (1, False), (33, False)])
def test_workgroups_that_meet_in_few_channels_are_seen(step: int, camped: bool) -> None:
    starts = np.arange(1024) * (step * 64)
    seen = survey(1024, lambda chosen: places(starts, step), np.random.default_rng(1))
    assert seen.camps(0, 1024) is camped
    assert not seen.camps(0, 4), "four places meet by chance"


def test_neighbours_that_each_stay_in_a_channel_of_their_own_do_not_meet() -> None:
    starts = np.random.default_rng(1).integers(0, 1 << 20, 1024) * 4
    seen = survey(1024, lambda chosen: places(starts, 0), np.random.default_rng(1))
    assert not seen.camps(0, 1024)


def test_a_launch_that_camps_on_channels_runs_whole_and_says_so() -> None:
    (case,) = [one for one in generated_cases(161937, 13) if one.name == "mi6 channels 161937-12"]
    prepared = case.make()
    facts = sampled(lambda steerer: simulate(prepared.launch, prepared.gpu, steerer=steerer), SamplingSpec(error=0.03))
    assert facts.sampling is not None and facts.sampling.method == "whole"
    assert "few memory channels" in facts.sampling.reason


def test_what_atomics_of_another_stratum_leave_behind_lies_within_the_half_width() -> None:
    """With 30 % skipped it was 15 % too slow: requests of the one before gave the next its pace."""
    (case,) = [one for one in generated_cases(161937, 7) if one.name == "r9nano atomics 161937-6"]
    prepared = case.make()
    facts = sampled(lambda steerer: simulate(prepared.launch, prepared.gpu, steerer=steerer), SamplingSpec(error=0.03))
    whole = 39_292  # cycles of a whole simulation of the version that first passed
    assert facts.sampling is not None and abs(facts.cycles - whole) <= facts.sampling.half_width("kernel", "cycles")
    assert abs(facts.cycles / whole - 1) < 0.1

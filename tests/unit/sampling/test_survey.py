"""Does a survey see what addresses do, all over the grid, and leave memory as it is?"""

import numpy as np
import pytest

from gpusim.lab.checks.sampling.generated import KINDS, PLACES, generated_cases
from gpusim.model.sampling.survey import survey
from isa.execution.survey import surveyed_accesses

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

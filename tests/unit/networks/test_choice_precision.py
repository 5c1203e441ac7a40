"""How precisely algorithms are measured for a choice: as they differ, or as the run that asks is to be known."""

from typing import Any

import pytest

from gpusim.jobs.networks.choice import ERROR, precision
from gpusim.model.sampling.spec import SamplingSpec


@pytest.mark.parametrize("asked", [None, {}, {"error": ERROR}, {"error": 0.01, "within": True}])
def test_a_precise_run_chooses_as_precisely_as_algorithms_differ(asked: dict[str, Any] | None) -> None:
    found = precision(None if asked is None else SamplingSpec(**asked))
    assert (found.error, found.goes_within) == (ERROR, False)


@pytest.mark.parametrize("within", [None, True, False])
def test_a_run_that_is_known_less_well_chooses_as_it_is_sampled(within: bool | None) -> None:
    found = precision(SamplingSpec(error=0.05, confidence=0.9, within=within))
    assert (found.error, found.confidence) == (0.05, 0.9)
    assert found.goes_within is (within is not False)

"""The machines as a fixture."""

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import MACHINES


@pytest.fixture(params=MACHINES)
def gpu(request: pytest.FixtureRequest) -> GpuSpec:
    """Each machine in turn."""
    return MACHINES[request.param]

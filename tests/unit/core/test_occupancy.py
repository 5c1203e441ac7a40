"""Does each resource limit the workgroups of a compute unit as its allocation blocks say?"""

from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.model.core.cu.spec import ComputeUnitSpec
from gpusim.model.core.occupancy import OccupancyError, occupancy

CU = ComputeUnitSpec()


def fit(waves: int = 1, vgprs: int = 24, sgprs: int = 32, lds: int = 0, dynamic: int = 0) -> Any:
    kernel = SimpleNamespace(name="k", vgprs=vgprs, sgprs=sgprs, lds_bytes=lds)
    launch = SimpleNamespace(kernel=kernel, wavefronts_per_workgroup=waves, dynamic_lds_bytes=dynamic)
    return occupancy(launch, CU)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vgprs", "waves_per_simd"), [(24, 10), (25, 9), (28, 9), (29, 8), (64, 4), (65, 3), (128, 2), (129, 1), (256, 1)]
)
def test_vgprs_are_allocated_in_blocks_of_four(vgprs: int, waves_per_simd: int) -> None:
    found = fit(vgprs=vgprs)
    assert found.waves_per_simd == waves_per_simd
    assert found.limiter == ("wavefront slots" if waves_per_simd == 10 else "VGPRs")


@pytest.mark.parametrize(("sgprs", "waves_per_simd"), [(80, 10), (81, 8), (96, 8), (102, 7)])
def test_sgprs_are_allocated_in_blocks_of_sixteen(sgprs: int, waves_per_simd: int) -> None:
    assert fit(sgprs=sgprs).waves_per_simd == waves_per_simd


@pytest.mark.parametrize(
    ("lds", "dynamic", "workgroups"), [(512, 0, 40), (2048, 0, 32), (2049, 0, 25), (16384, 16385, 1)]
)
def test_lds_is_allocated_in_blocks_of_512_bytes(lds: int, dynamic: int, workgroups: int) -> None:
    assert fit(lds=lds, dynamic=dynamic).workgroups_per_cu == workgroups


def test_workgroups_of_several_wavefronts_share_sixteen_barriers() -> None:
    assert fit(waves=2).workgroups_per_cu == 16
    assert fit(waves=2).limiter == "barriers"
    assert fit(waves=1).workgroups_per_cu == 40
    assert fit(waves=16).workgroups_per_cu == 2


@pytest.mark.parametrize(
    ("demand", "said"),
    [({"lds": 65537}, "LDS"), ({"waves": 16, "vgprs": 129}, "VGPRs"), ({"waves": 17}, "1024 work-items")],
)
def test_what_does_not_fit_is_refused(demand: dict[str, int], said: str) -> None:
    with pytest.raises(OccupancyError, match=said):
        fit(**demand)

"""Has a workgroup of a HIP program the LDS that it has on a GPU: whole blocks?"""

import pytest

from gpusim.jobs.hip.session import round_up_dynamic_lds


@pytest.mark.parametrize(
    ("of_kernel", "dynamic", "held"),
    [(0, 0, 0), (0, 2112, 2560), (0, 512, 512), (100, 0, 412), (500, 1152, 1548), (65024, 512, 512)],
)
def test_dynamic_lds_ends_with_a_block(of_kernel: int, dynamic: int, held: int) -> None:
    assert round_up_dynamic_lds(of_kernel, dynamic, 512) == held and (of_kernel + held) % 512 == 0

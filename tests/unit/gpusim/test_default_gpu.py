"""Is the GPU of a file that names none the same one everywhere?"""

from typing import Any

import pytest

from gpusim.cli.hip import HipOptions
from gpusim.config.exec import load_exec
from gpusim.config.gpu import DEFAULT_GPU, load_gpu
from gpusim.config.run import load_run

EXECUTION: dict[str, Any] = {"code_object": "k.hsaco", "global_size": [64]}
RUN: dict[str, Any] = {"workload": {"kind": "gemm", "m": 64, "n": 64, "k": 64}}


@pytest.mark.parametrize("empty", [{}, {"gpu": None}])
def test_a_file_that_names_no_gpu_has_the_default_one(empty: dict[str, Any]) -> None:
    default = load_gpu(DEFAULT_GPU)
    assert load_exec({**EXECUTION, **empty})[0].gpu == load_run({**RUN, **empty}).gpu == default
    assert load_gpu({**EXECUTION, **empty}) == load_gpu({**RUN, **empty}) == default
    assert HipOptions().gpu == DEFAULT_GPU


def test_values_are_laid_over_the_default_one_and_another_one_takes_its_place() -> None:
    assert load_run(RUN, {"gpu.memory_mib": 1024}).gpu == load_gpu(DEFAULT_GPU, {"memory_mib": 1024})
    assert load_run(RUN, {"gpu": "mi6"}).gpu == load_run(RUN, {"gpu.base": "mi6"}).gpu == load_gpu("mi6")

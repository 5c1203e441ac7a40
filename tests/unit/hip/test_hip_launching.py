"""Does a launch of a HIP program find in L2 what the one before left there, where the GPU's caches are warm?"""

import numpy as np
import pytest

from gpusim.base.progress import Reporter
from gpusim.jobs.hip.launching import Launcher, LaunchOptions, ProgramLaunches
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from tests.support.functional import Device, kernel

N = 1024
READ = 2 * N * 4 // 64  # lines of the two arrays that are added
ARGUMENTS = 1  # line of the kernel's arguments


class Program:
    """A process that adds arrays, again and again."""

    def __init__(self, caches: str) -> None:
        ideal = {"instruction_cache": {"model": "ideal"}}  # only data in L2
        gpu = GpuSpec.model_validate({"shader_arrays": 1, "cus_per_array": 2, "caches": caches, **ideal})
        device = Device()
        for name in "abc":
            device.put(name, np.ones(N, np.float32))
        self._launch = device.launch(kernel("vector_add", "vector_add"), N, 64, *"abc", N)
        self.launcher = Launcher(LaunchOptions(gpu), ProgramLaunches(), Reporter(quiet=True))

    def run(self) -> RunFacts:
        return self.launcher.run(self._launch, True, lambda _: True, None)


def test_warm_launches_read_dram_once() -> None:
    program = Program("warm")
    assert [program.run().dram.reads for _ in range(3)] == [READ + ARGUMENTS, 0, 0]


def test_flushed_launches_read_dram_each_time() -> None:
    program = Program("flushed")
    first, second = program.run(), program.run()
    assert (first.dram.reads, second.dram.reads) == (READ + ARGUMENTS, READ + ARGUMENTS)
    assert first.cycles == second.cycles


@pytest.mark.parametrize("caches", ["warm", "flushed"])
def test_what_the_program_moves_empties_l2(caches: str) -> None:
    program = Program(caches)
    program.run()
    program.launcher.bytes_moved()
    assert program.run().dram.reads == READ + ARGUMENTS

"""Is a kernel run only by a GPU that executes its code?"""

import pytest

from gpusim.base.progress import Reporter
from gpusim.config.gpu import load_gpu
from gpusim.jobs.host.command_processor import CommandProcessor, LaunchCommand, LaunchError
from gpusim.results.records.record import RunRecord
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from isa.object.code_object import load_code_object
from workloads.toolchain.build import KERNELS_DIR


def test_code_for_another_gpu_is_refused() -> None:
    (kernel,) = load_code_object(KERNELS_DIR / "sgemm_column_lanes.hsaco").kernels.values()
    block = bytes(kernel.kernarg_bytes)
    launch = Launch(kernel, DeviceMemory(1 << 20), block, (16, 16, 1), (16, 16, 1))
    processor = CommandProcessor(load_gpu("mi25"), Reporter(quiet=True))
    with pytest.raises(LaunchError, match="is built for gfx803, and the GPU MI25 executes gfx900"):
        processor.run([LaunchCommand(launch)], RunRecord(False, kernel.name, []))

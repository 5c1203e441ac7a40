"""Does device memory go as soon as nobody has it?"""

import gc
import weakref

import numpy as np

from isa.device_memory import DeviceMemory


def test_it_is_no_part_of_a_cycle() -> None:
    gc.disable()
    try:
        memory = DeviceMemory(1 << 20)
        memory.free(memory.upload(np.ones(100, np.float32), "x"))
        memory.allocate(64, "y")
        gone = weakref.ref(memory)
        del memory
        assert gone() is None
    finally:
        gc.enable()

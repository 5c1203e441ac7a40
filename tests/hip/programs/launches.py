"""Launch vector_add N times by HIP, called by ctypes: `launches.py N ITEMS`."""

import ctypes
import os
import sys
from pathlib import Path

CODE = Path(__file__).resolve().parents[3] / "sim_configs/examples/vector_add.hsaco"


def main(launches: int, items: int) -> None:
    """Allocate three arrays of zeros and add two of them `launches` times."""
    hip = ctypes.CDLL(os.environ["ROCM_PATH"] + "/lib/libamdhip64.so")
    module, function, arrays = ctypes.c_void_p(), ctypes.c_void_p(), [ctypes.c_void_p() for _ in range(3)]
    statuses = [hip.hipModuleLoad(ctypes.byref(module), str(CODE).encode())]
    statuses += [hip.hipModuleGetFunction(ctypes.byref(function), module, b"vector_add")]
    statuses += [hip.hipMalloc(ctypes.byref(array), ctypes.c_size_t(4 * items)) for array in arrays]
    values = (*arrays, ctypes.c_uint(items))
    pointers = (ctypes.c_void_p * 4)(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))
    grid = ((items + 255) // 256, 1, 1, 256, 1, 1)
    statuses += [hip.hipModuleLaunchKernel(function, *grid, 0, None, pointers, None) for _ in range(launches)]
    statuses += [hip.hipDeviceSynchronize()]
    if any(statuses):
        sys.exit(f"statuses {statuses}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

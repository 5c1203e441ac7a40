"""Use comgr as Python frameworks do, by ctypes: `objects.py [SECOND]` compiles a kernel and prints what came of it.

With an argument a child that multiprocessing spawns, which inherits no descriptor, does it.
"""

import ctypes
import multiprocessing
import os
import sys

HIP, SOURCE, LOG, EXECUTABLE = 4, 1, 5, 8
TO_BITCODE, TO_RELOCATABLE, TO_EXECUTABLE = 0x2, 0x6, 0x9
KERNEL = b"""
extern "C" __attribute__((global)) void twice(int* x) {
  x[__builtin_amdgcn_workitem_id_x()] *= FACTOR;
}
"""


class Handle(ctypes.Structure):
    """A handle of comgr's."""

    _fields_ = [("number", ctypes.c_uint64)]


def compiled(factor: str) -> tuple[int, bytes, bytes]:
    """Compile the kernel in three actions: the first one's status that is not 0, its log, the code object."""
    comgr = ctypes.CDLL(os.environ["ROCM_PATH"] + "/lib/libamd_comgr.so")

    def made(name: str, *first: int) -> Handle:
        handle = Handle()
        assert getattr(comgr, f"amd_comgr_create_{name}")(*first, ctypes.byref(handle)) == 0
        return handle

    def contents(held: Handle, kind: int) -> bytes:
        data, size = Handle(), ctypes.c_size_t()
        if comgr.amd_comgr_action_data_get_data(held, kind, ctypes.c_size_t(0), ctypes.byref(data)):
            return b""
        assert comgr.amd_comgr_get_data(data, ctypes.byref(size), None) == 0
        buffer = ctypes.create_string_buffer(size.value)
        assert comgr.amd_comgr_get_data(data, ctypes.byref(size), buffer) == 0
        assert comgr.amd_comgr_release_data(data) == 0
        return buffer.raw

    info, source = made("action_info"), made("data", SOURCE)
    assert comgr.amd_comgr_action_info_set_isa_name(info, b"amdgcn-amd-amdhsa--gfx1100") == 2  # no such GPU here
    assert comgr.amd_comgr_action_info_set_isa_name(info, b"amdgcn-amd-amdhsa--gfx803") == 0
    assert comgr.amd_comgr_action_info_set_language(info, HIP) == comgr.amd_comgr_action_info_set_logging(info, 1) == 0
    assert comgr.amd_comgr_set_data(source, ctypes.c_size_t(len(KERNEL)), KERNEL) == 0
    assert comgr.amd_comgr_set_data_name(source, b"twice.hip") == 0
    sets = [made("data_set") for _ in range(4)]
    assert comgr.amd_comgr_data_set_add(sets[0], source) == comgr.amd_comgr_release_data(source) == 0
    options = (b"-O3", b"-nogpuinc", b"-DFACTOR=" + factor.encode())
    assert comgr.amd_comgr_action_info_set_option_list(
        info, (ctypes.c_char_p * len(options))(*options), ctypes.c_size_t(len(options))
    ) == 0  # fmt: skip
    for action, given, result in zip((TO_BITCODE, TO_RELOCATABLE, TO_EXECUTABLE), sets, sets[1:], strict=False):
        if status := comgr.amd_comgr_do_action(action, info, given, result):
            return status, contents(result, LOG), b""
    code = contents(sets[3], EXECUTABLE)
    for one in sets:
        assert comgr.amd_comgr_destroy_data_set(one) == 0
    assert comgr.amd_comgr_release_data(source) == 2, "it went with the last set that held it"
    assert comgr.amd_comgr_destroy_action_info(info) == 0
    return 0, b"", code


def tried(factor: str) -> None:
    """Compile, load and launch the kernel, and print what the first of three numbers becomes."""
    status, log, code = compiled(factor)
    print(status, log.decode().strip())
    if status:
        return
    hip = ctypes.CDLL(os.environ["ROCM_PATH"] + "/lib/libamdhip64.so")
    module, function, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert hip.hipModuleLoadData(ctypes.byref(module), code) == 0
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"twice") == 0
    numbers = (ctypes.c_int * 3)(5, 6, 7)
    assert hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(12)) == 0
    assert hip.hipMemcpy(memory, numbers, ctypes.c_size_t(12), 1) == 0
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(memory), ctypes.c_void_p))
    assert hip.hipModuleLaunchKernel(function, 1, 1, 1, 3, 1, 1, 0, None, arguments, None) == 0
    assert hip.hipMemcpy(numbers, memory, ctypes.c_size_t(12), 2) == 0
    print(*numbers)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.map(tried, ["2"])
    else:
        tried("2")
        tried("two")

"""Matrix products of networks' layers by the library that a user has installed (`products`).

Which kernels a library takes for a product, with which arguments, is its own decision: gpusim's program that calls it
(`gpusim/jobs/hip/programs/product.cpp`) is run once for each size, and what it launches is kept. The launches are then
those of the layer, with the layer's tensors in the place of the program's arrays.
"""

import os
import struct
from collections.abc import Sequence
from ctypes.util import find_library
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.model.core.gpu_spec import GpuSpec
from isa.launch import POINTERS, Launch
from workloads.vendor.libraries import VENDOR_PRODUCTS, VendorProduct

if TYPE_CHECKING:
    from gpusim.jobs.hip.recording import ProgramRecording
    from isa.device_memory import DeviceMemory
    from isa.kernarg import Pointer

ROOT_VARIABLE = "GPUSIM_VENDOR_ROOT"
INSTALLING = f"apt install {{packages}}, or gpusim packages libraries FOLDER and {ROOT_VARIABLE}=FOLDER"
CODE_BYTES = 1 << 30  # of address space for a library's code objects, of 20 MiB a kernel; untouched, it costs nothing
_NO_LIBRARY = 4  # the program's exit code


def is_there(product: VendorProduct) -> bool:
    """Tell whether the library's file is in one of the folders where programs find it."""
    from gpusim.jobs.hip.supervisor import FOLDERS

    named = os.environ.get(ROOT_VARIABLE)
    folders = [Path(named or "/") / folder for folder in FOLDERS]
    if not named:
        folders += map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))
    return any((folder / product.library).exists() for folder in folders) or (
        not named and find_library(product.library.removeprefix("lib").partition(".")[0]) == product.library
    )


def recorded(product: VendorProduct, words: Sequence[str | Path | int], gpu: GpuSpec) -> "ProgramRecording":
    """Return the launches of a product by a library, from the folder that GPUSIM_VENDOR_ROOT names or from the system.

    Args:
        product: The product.
        words: Words of the program, after the call's name.
        gpu: The GPU.

    Raises:
        UserError: The library is missing.
    """
    from gpusim.jobs.hip.built import libraries
    from gpusim.jobs.hip.recording import record
    from gpusim.jobs.hip.supervisor import HostProgram

    named = os.environ.get(ROOT_VARIABLE)
    program = HostProgram(
        [str(libraries() / "product"), product.call, *map(str, words)], Path(named) if named else None
    )
    recording = record(program, gpu, Reporter(quiet=False), execute=product.sparse)
    if recording.code_of_exit == _NO_LIBRARY:
        raise UserError(
            f"{product.name}: {product.library} is not there: {INSTALLING.format(packages=product.package)}"
        )
    if recording.code_of_exit or recording.memory is None:
        raise UserError(
            f"{product.name}: the program that calls {product.library} ended with code {recording.code_of_exit}"
        )
    if product.multiply_accumulate:
        from workloads.vendor.multiply_accumulate import with_multiply_accumulate

        recording.with_code(with_multiply_accumulate)
    return recording


@dataclass(frozen=True)
class LibraryMultiplier:
    """A library's dense product for layers' tensors (workloads.operators.tiles.Multiplier)."""

    product: VendorProduct
    """The library's product."""
    gpu: GpuSpec
    """GPU that runs it."""

    def launches(
        self, layout: str, operands: "tuple[Pointer, Pointer, Pointer]", memory: "DeviceMemory",
        sizes: tuple[int, int, int], leading: tuple[int, int, int], add: bool,
    ) -> tuple[Launch, ...]:  # fmt: skip
        """Return the library's launches over these operands; raises UserError where it is missing."""
        kept, arrays = _launches(self.product, self.gpu, layout, sizes, leading, add)
        addresses = [operand.address for operand in operands]
        return tuple(moved(launch, memory, arrays, addresses) for launch in kept)


def library_multiplier(products: str, gpu: GpuSpec) -> LibraryMultiplier | None:
    """Return the multiplier of that name in configurations; None for products that are ours."""
    return LibraryMultiplier(VENDOR_PRODUCTS[products], gpu) if products in VENDOR_PRODUCTS else None


def moved(
    launch: Launch, memory: "DeviceMemory", arrays: Sequence[tuple[int, int]], addresses: Sequence[int]
) -> Launch:
    """Return a launch over other arrays: pointers into each of `arrays` (address, bytes) lead to the same place of the
    one at the address of that number.

    Raises UserError for a pointer into none of them: such memory is a library's own.
    """
    block = bytearray(launch.kernarg)
    for argument in launch.kernel.arguments:
        if argument.kind not in POINTERS or argument.size != 8:
            continue
        (address,) = struct.unpack_from("<Q", block, argument.offset)
        if not address:
            continue
        number = next((n for n, (first, size) in enumerate(arrays) if first <= address < first + size), None)
        if number is None:
            raise UserError(
                f"kernel '{launch.kernel.name}': argument '{argument.name}' points to memory of the library's own; a"
                " layer's product by a library has its operands and its result alone"
            )
        struct.pack_into("<Q", block, argument.offset, addresses[number] + address - arrays[number][0])
    return replace(launch, memory=memory, kernarg=bytes(block))


@cache
def _launches(
    product: VendorProduct,
    gpu: GpuSpec,
    layout: str,
    sizes: tuple[int, int, int],
    leading: tuple[int, int, int],
    add: bool,
) -> tuple[tuple[Launch, ...], tuple[tuple[int, int], ...]]:
    """Return a product's launches, and where the arrays of A, B and C lay."""
    (m, n, k), (lda, ldb, ldc) = sizes, leading
    of_a, of_b = (4 * lda * (k if layout[0] == "n" else m), 4 * ldb * (n if layout[1] == "n" else k))
    recording = recorded(product, (m, n, k, lda, ldb, ldc, f"={of_a}", f"={of_b}", layout, int(add)), gpu)
    arrays = tuple((one.address, one.size_bytes) for one in recording.allocations[:3])
    return recording.launches, arrays

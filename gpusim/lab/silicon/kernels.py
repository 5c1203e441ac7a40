"""The code objects of a measured table's kernels, found in the user's own packages."""

from collections.abc import Iterator, Mapping
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError
from gpusim.lab.silicon.measured import MeasuredKernelsSpec

if TYPE_CHECKING:
    from isa.object.code_object import Kernel


def kernel_files(spec: MeasuredKernelsSpec, folder: Path | None) -> list[Path]:
    """Find the files of `spec` below a folder of the user's, or where an installed package has them.

    Args:
        spec: Which files.
        folder: Folder; None: the installed package's.

    Raises:
        UserError: There are none.
    """
    if spec.shipped:
        from workloads.toolchain.build import KERNELS_DIR

        return [KERNELS_DIR / name for name in spec.files]
    for place in _places(spec, folder):
        found = [next(_below(place, name), None) for name in spec.files]
        if all(found):
            return [path for path in found if path is not None]
    where = str(folder) if folder is not None else ", ".join(spec.folders)
    raise UserError(
        f"no {' and '.join(spec.files)} in {where}: install {spec.package or 'the package with the kernels'}, or "
        "unpack it (dpkg -x PACKAGE.deb FOLDER) and name the folder with --kernels"
    )


def selection_file(spec: MeasuredKernelsSpec, folder: Path | None) -> Path | None:
    """Find the file by which the library selects kernels, below a folder of the user's or where a package has it.

    Args:
        spec: Which files.
        folder: Folder; None: the installed package's.
    """
    found = (next(_below(place, spec.selection), None) for place in _places(spec, folder) if spec.selection)
    return next((path for path in found if path is not None), None)


def _places(spec: MeasuredKernelsSpec, folder: Path | None) -> list[Path]:
    return [folder] if folder is not None else [Path(place) for name in spec.folders for place in sorted(glob(name))]


def _below(place: Path, name: str) -> Iterator[Path]:
    if (place / name).is_file():
        yield place / name
    else:
        yield from sorted(path for path in place.rglob(name) if path.is_file())


class KernelSource(Mapping[str, "Kernel"]):
    """The kernels of code objects by name; each is made ready when it is asked for.

    Raises CodeObjectError for a file that is none, UserError for a kernel that cannot be changed as the table asks.
    """

    def __init__(self, paths: list[Path], multiply_accumulate: bool = False, counted_waits: bool = False) -> None:
        from isa.object.code_object import load_kernels

        self._multiply_accumulate, self._counted_waits = multiply_accumulate, counted_waits
        self._images = {path: path.read_bytes() for path in paths}
        self._found: dict[str, tuple[Path, Mapping[str, Kernel]]] = {}
        for path, image in self._images.items():
            kernels = load_kernels(image)
            for name in kernels:
                self._found.setdefault(name, (path, kernels))
        self._ready: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> "Kernel":
        if name not in self._ready:
            path, kernels = self._found[name]
            kernel = kernels[name]
            if self._multiply_accumulate:
                from isa.object.code_object import load_code_object
                from workloads.vendor.multiply_accumulate import with_multiply_accumulate

                changed = with_multiply_accumulate(self._images[path], [kernel])
                kernel = load_code_object(changed).kernels[name]
            if self._counted_waits:
                from workloads.vendor.counted_waits import with_counted_waits

                kernel = with_counted_waits(kernel)
            self._ready[name] = kernel
        return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

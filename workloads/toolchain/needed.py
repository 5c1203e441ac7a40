"""Code objects of the project's kernels for the GPU at hand: shipped, as all of gfx803 are, or built when needed.

What is built lies in the user's cache under a name that says of which sources: of a changed source it is built again.
"""

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

from gpusim.base.jit import cache_folders
from gpusim.base.progress import current_reporter
from workloads.toolchain.build import LANGUAGE_FLAGS, build, code_object_path
from workloads.toolchain.compilers import DEFAULT_GPU
from workloads.toolchain.errors import KernelBuildError


def code_object(name: str, directory: Path, gpu: str) -> Path:
    """Return the code object of a folder's source `name` for a GPU.

    Args:
        name: Name of the source.
        directory: Folder of the source.
        gpu: Name of the GPU.

    Raises:
        KernelBuildError: It has to be built and cannot be.
    """
    shipped = code_object_path(name, directory, gpu)
    if gpu == DEFAULT_GPU or shipped.is_file():
        return shipped
    kept = Path(f"kernels-{_hash(directory)}") / code_object_path(name, Path(), gpu)
    for place in cache_folders.readable():
        if cache_folders.is_trusted(place, str(kept)):
            return place / kept
    place_to_write = cache_folders.writable()
    if place_to_write is None:
        raise KernelBuildError(f"{name}: code for {gpu} can be kept nowhere; GPUSIM_CACHE_DIR names a folder")
    current_reporter().say_once(f"gpusim: building kernels for {gpu}, of which no code is shipped")
    target = place_to_write / kept
    cache_folders.make_folder(place_to_write, kept.parent.name)
    source = next(path for path in directory.glob(f"{name}.*") if path.suffix in LANGUAGE_FLAGS)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:  # another process may be building it too
        try:
            build(source, Path(folder) / target.name, gpu=gpu)
        except KernelBuildError as error:
            raise KernelBuildError(f"no code for {gpu} is shipped, and none can be built: {error}") from None
        cache_folders.close(Path(folder))  # as compilers leave it to the umask
        os.replace(Path(folder) / target.name, target)
    return target


@cache
def _hash(directory: Path) -> str:
    """Return a digest of all sources and headers of a folder."""
    digest = hashlib.sha256()
    for path in sorted(directory.iterdir()):
        if path.suffix in (*LANGUAGE_FLAGS, ".h", ".inc"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]

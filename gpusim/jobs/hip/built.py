"""The runtime library and gpusim's own HIP programs: the wheel's, or built when they are first needed, in the cache."""

import hashlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gpusim.base.files import write_whole
from gpusim.base.jit import cache_folders
from gpusim.base.progress import current_reporter
from gpusim.jobs.hip import jax_convolutions
from gpusim.jobs.hip.building import STAND_IN, HipBuildError, build, compiler, is_whole, name
from gpusim.jobs.hip.functions import stand_ins
from workloads.toolchain.compilers import device_library, find_hip_tools, hip_root
from workloads.toolchain.errors import KernelBuildError

HIPCC = "hipcc"
_HIPCC = """#!/bin/sh
# in the place of hipcc, which is not installed
device=
for word; do
  shift
  case $word in
    --genco | --cuda-device-only) device=1 ;;
    -E | --preprocess) device=1; set -- "$@" "$word" ;;
    *) set -- "$@" "$word" ;;
  esac
done
if [ -z "$device" ]; then
  echo "gpusim: hipcc is not installed; its stand-in compiles device code alone (--genco, -E)" >&2
  exit 1
fi
exec {command} "$@"
"""
_HEADERS = ("hipcub", "rocprim", "thrust")  # folders of libraries that are headers: CuPy 14's kernels include Thrust
PROFILERS = ("libroctracer64.so.4",)  # CuPy 14 is linked with it
_UNNUMBERED = tuple(
    f"lib{name}.so"
    for name in (
        "hipblas",
        "hipfft",
        "hiprand",
        "hipsolver",
        "hipsparse",
        "MIOpen",
        "rccl",
        "rocblas",
        "rocfft",
        "rocrand",
        "rocsolver",
        "rocsparse",
    )
)
# the node of a GPU of AMD's at the PCI address that the HIP runtime gives, 0000:01:00.0
_GPU_NODE = "cpu_cores_count 0\nsimd_count {simds}\nvendor_id 4098\nunique_id 1\ndomain 0\nlocation_id 256\n"
PREBUILT = Path(__file__).with_name("prebuilt")  # in wheels for x86-64 Linux (hatch_build.py)


def libraries() -> Path:
    """Return the folder with the runtime library under each of its names, and with the programs; built if need be.

    Raises HipBuildError.
    """
    wanted = name()
    if is_whole(PREBUILT / wanted):
        return PREBUILT / wanted
    for place in cache_folders.readable():
        if is_whole(place / wanted) and cache_folders.is_trusted(place, wanted):
            return place / wanted
        if (place / wanted).is_dir():
            current_reporter().say_once(f"gpusim: {place / wanted}: the library there is damaged; it is built again")
    kept = cache_folders.writable()
    if kept is None:
        raise HipBuildError("the runtime library for HIP programs can be kept nowhere; GPUSIM_CACHE_DIR names a folder")
    found = compiler()
    current_reporter().say(f"gpusim: building the runtime library for HIP programs with {found}")
    with tempfile.TemporaryDirectory(prefix=f"{wanted}.", dir=kept) as folder:
        results = build(found, Path(folder))
        cache_folders.close(results)
        if (kept / wanted).is_dir() and not is_whole(kept / wanted):
            os.rename(kept / wanted, Path(folder) / "damaged")
        try:
            os.rename(results, kept / wanted)
        except OSError:
            if not is_whole(kept / wanted):  # else another process was faster
                raise
    return kept / wanted


def rocm_folder(program_root: Path | None = None) -> Path | None:
    """Return a folder with what ROCm's holds, if it is installed, and gpusim's libraries in place of its own.

    Python packages open libraries there by their path, whatever the loader would find. It is kept in the cache, and
    holds links alone; None where there is no cache that can be written, which is said. Libraries that are headers, such
    as rocThrust, are those of the program's root where it has them.
    """
    root = hip_root()
    links = {} if root is None else {entry.name: str(entry.absolute()) for entry in sorted(root.iterdir())}
    found = () if program_root is None else (program_root / "usr/include" / name for name in _HEADERS)
    headers = [entry for entry in found if entry.is_dir()]
    if root is not None and headers:
        del links["include"]
        links |= {f"include/{entry.name}": str(entry.absolute()) for entry in headers}
        links["include/hip"] = str((root / "include/hip").absolute())
    if links and (library := device_library()) is not None:  # hipcc looks for it there
        links.setdefault("amdgcn", str(library.parent))
    return _linked("rocm", {**links, "lib": str(libraries())})


def compiler_folder(architecture: str) -> Path | None:
    """Return a folder, kept likewise, with a stand-in for hipcc, which compiles device code for a GPU; None where there
    is hipcc, or nothing that compiles HIP.
    """
    kept = cache_folders.writable()
    if kept is None or shutil.which(HIPCC) is not None:
        return None
    try:
        tools, flags = find_hip_tools(architecture)
    except KernelBuildError:
        return None
    text = _HIPCC.format(command=shlex.join([tools.clang, *flags]))
    folder = cache_folders.make_folder(kept, f"{HIPCC}-{hashlib.sha256(text.encode()).hexdigest()[:16]}")
    if not cache_folders.is_trusted(kept, f"{folder.name}/{HIPCC}"):
        write_whole(folder / HIPCC, text, cache_folders.FOLDER_MODE)
    return folder


def unnumbered_folder(folders: Sequence[Path]) -> Path | None:
    """Return a folder, kept likewise, with libraries of `folders` by names that only development packages give them.

    CuPy's wheels are linked with such names, and HIP Python opens them. None where nothing is missing.
    """
    links: dict[str, str] = {}
    for short in _UNNUMBERED:
        if not any((folder / short).exists() for folder in folders):
            numbered = (path for folder in folders for path in sorted(folder.glob(f"{short}.*")))
            links.update((short, str(path.absolute())) for path in [next(numbered, None)] if path is not None)
    return _linked("names", links) if links else None


def stand_in_folder(folders: Sequence[Path], library_folder: Path, only: Sequence[str] = ()) -> Path | None:
    """Return a folder, kept likewise, with stand-ins for libraries that none of `folders` has; None: all are there.

    Args:
        folders: Where libraries are.
        library_folder: Where the stand-ins are, with the runtime library.
        only: Libraries; empty: all that have stand-ins.
    """
    names = [one.library for one in stand_ins() if not only or one.library in only]
    missing = [name for name in names if not any((folder / name).exists() for folder in folders)]
    return (
        _linked("stand-ins", {name: str(library_folder / f"{STAND_IN}{name}") for name in missing}) if missing else None
    )


def module_folder() -> Path | None:
    """Return a folder, kept likewise, with the Python module by which programs declare sparse regions."""
    return _linked("modules", {"gpusim_spartan.py": str(Path(__file__).with_name("sparse_region.py"))})


def plugin_folder() -> Path | None:
    """Return a folder, kept likewise, with a plugin of JAX's by which it does without MIOpen."""
    return _linked("plugins", {"jax_plugins/gpusim_convolutions.py": str(Path(jax_convolutions.__file__))})


def driver_folder(compute_units: int) -> Path | None:
    """Return a folder, kept likewise, with the kernel driver's files: a node for the host, and one for the GPU."""
    from gpusim.model.core.cu.spec import SIMDS

    simds = SIMDS * compute_units
    host = {"gpu_id": "0\n", "properties": "cpu_cores_count 1\nsimd_count 0\n"}
    gpu = {"gpu_id": "1\n", "properties": _GPU_NODE.format(simds=simds)}
    kept = cache_folders.writable()
    if kept is None:
        return None
    folder = kept / f"driver-{hashlib.sha256(repr((host, gpu)).encode()).hexdigest()[:16]}"
    for node, texts in enumerate((host, gpu)):
        place = folder / "sys/class/kfd/kfd/topology/nodes" / str(node)
        for links in ("io_links", "p2p_links"):
            (place / links).mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            if not (place / file).exists():
                write_whole(place / file, text)
    return folder


def _linked(what: str, links: dict[str, str]) -> Path | None:
    """Return a folder of the cache with these links; None where there is no cache that can be written."""
    kept = cache_folders.writable()
    if kept is None:
        current_reporter().say_once(f"gpusim: no folder can be kept for {what}; GPUSIM_CACHE_DIR names one")
        return None
    folder = kept / f"{what}-{hashlib.sha256(repr(links).encode()).hexdigest()[:16]}"
    if not cache_folders.is_trusted(kept, folder.name):
        with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=kept) as made:
            results = cache_folders.make_folder(Path(made), "links")
            for name, target in links.items():
                cache_folders.make_folder(results, str(Path(name).parent))
                (results / name).symlink_to(target)
            if folder.is_dir():  # another user may have written to it
                os.rename(folder, Path(made) / "untrusted")
            try:
                os.rename(results, folder)
            except OSError:
                if not cache_folders.is_trusted(kept, folder.name):  # else another process was faster
                    raise
    return folder

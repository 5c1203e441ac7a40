"""The runtime library and gpusim's own HIP programs: the wheel's, or built when they are first needed, in the cache."""

import os
import tempfile
from pathlib import Path

from gpusim.base.progress import current_reporter
from gpusim.hip.building import HipBuildError, build, compiler, is_whole, name
from gpusim.jit import cache_folders

PREBUILT = Path(__file__).with_name("prebuilt")  # in wheels for x86-64 Linux (hatch_build.py)


def libraries() -> Path:
    """Return the folder with the runtime library under each of its names, and with the programs; built if need be.

    Raises HipBuildError.
    """
    wanted = name()
    for place in (PREBUILT, *cache_folders.readable()):
        if is_whole(place / wanted):
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
        if (kept / wanted).is_dir() and not is_whole(kept / wanted):
            os.rename(kept / wanted, Path(folder) / "damaged")
        try:
            os.rename(results, kept / wanted)
        except OSError:
            if not is_whole(kept / wanted):  # else another process was faster
                raise
    return kept / wanted

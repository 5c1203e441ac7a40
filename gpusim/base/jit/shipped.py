"""Machine code that an installation brings, for x86-64 processors of the third level (AVX2, BMI2, F16C, FMA).

A wheel that was built for it (`.ci/wheel`, `hatch_build.py`) has the object files that a first start would make, for a
processor named BASELINE in place of the host's own. Their names say of which sources, compiler and flags they are
(`gpusim.base.jit.cache`): with another Numba, or an edited source, they are not found, and the core is compiled. What
lies in the user's own cache comes first, as it is made for the host.

Whoever can write into an installation can change the Python files that load this code too, so that its folder is
trusted as they are.
"""

import os
import sys
from functools import cache
from pathlib import Path

from gpusim.base.jit.machine_code import Target, host_features, own_target

FOLDER = Path(__file__).with_name("shipped_code")  # in wheels alone
BASELINE = "x86-64-v3"
_VECTOR_FEATURES = ("avx", "avx2", "f16c", "fma", "sse3", "sse4.1", "sse4.2", "ssse3")
_OTHER_FEATURES = ("bmi", "bmi2", "cx16", "lzcnt", "movbe", "popcnt", "sahf", "xsave")
NEEDED = _VECTOR_FEATURES + _OTHER_FEATURES


@cache
def shipped_target() -> Target | None:
    """Return what the installation's machine code was compiled for; None if it has none that runs on this host."""
    if sys.platform != "linux" or not os.path.isdir(FOLDER):
        return None
    features = host_features()
    return own_target()._replace(cpu=BASELINE, features="") if all(map(features.get, NEEDED)) else None

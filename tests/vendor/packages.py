"""AMD's libraries and their own test programs, as Debian 13 packages them, unpacked into a folder.

`python -m tests.vendor.packages FOLDER` fetches some 2.6 GB with apt-get (`FOLDER llama`: llama.cpp and what it needs,
1.1 GB) as `gpusim packages` does: nothing is installed. What is unpacked runs with the C library that comes with it:
`gpusim hip --root FOLDER -- FOLDER/usr/libexec/...`.
"""

import sys
from pathlib import Path

from gpusim.jobs.hip.packages import DEBIAN, PACKAGE_SETS, PackageFolder, find_source

TESTS = (
    *("librocblas0-tests", "librocblas0-tests-data"),
    *("librocsparse0-tests", "librocsparse0-tests-data", "librocrand1-tests", "librocfft0-tests"),
    *("librocsolver0-tests", "librocalution0-tests", "librocprim-tests", "librocthrust-tests"),
    *("libhipblas0-tests", "libhipsparse0-tests", "libhipsolver0-tests", "libhipfft0-tests", "libhiprand1-tests"),
    "libhipcub-tests",
)
# what these are linked against; not libamdhip64-5, whose place gpusim's library takes
RUNTIME = (
    *("libc6", "libstdc++6", "libgcc-s1", "libgfortran5", "libquadmath0", "libblas3", "libsqlite3-0", "libgomp1"),
    *("liblapack3", "libfmt10", "libboost-program-options1.83.0", "libfftw3-double3", "libfftw3-single3"),
)
# llama.cpp is newer than Debian 13: its HIP backend is in the backports; its programs, in unstable, need its libraries
LLAMA: dict[str, tuple[str, ...]] = {
    DEBIAN.suite: (
        *("librocblas0", "librocsolver0", "librocsparse0", "libhipblas0"),
        *("libblas3", "libfmt10", "libgfortran5", "libquadmath0"),
    ),
    f"{DEBIAN.suite}-backports": ("libggml0", "libggml0-backend-hip"),
    "sid": (
        *("llama.cpp-tools", "libllama0", "libc6", "libstdc++6", "libgcc-s1", "libgomp1"),
        *("libssl3t64", "zlib1g", "libzstd1"),
    ),
}


def fetch(folder: Path, packages: tuple[str, ...], suite: str = DEBIAN.suite) -> None:
    """Unpack `packages` of a suite into `folder`; those that are there already are left as they are."""
    source = find_source().replace(f"Suites: {DEBIAN.suite}\n", f"Suites: {suite}\n")
    PackageFolder(folder).fetch_debian(packages, source, with_dependencies=False)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] == "llama":
        for suite, packages in LLAMA.items():
            fetch(Path(sys.argv[1]).absolute(), packages, suite)
    elif len(sys.argv) == 2:
        fetch(Path(sys.argv[1]).absolute(), (*PACKAGE_SETS["libraries"].debian, *TESTS, *RUNTIME))
    else:
        raise SystemExit(__doc__)

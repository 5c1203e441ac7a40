"""AMD's libraries and their own test programs, as Debian 13 packages them, unpacked into a folder.

`python -m tests.vendor.packages FOLDER` fetches some 2.6 GB with apt-get (`FOLDER llama`: llama.cpp and what it needs,
1.1 GB) from the archive that the system's own package sources name. apt's settings and lists lie in the folder: neither
the system's packages nor its lists are touched, and nothing is installed. What is unpacked there runs on older systems
too, with the C library that comes with it: `gpusim hip --root FOLDER -- FOLDER/usr/libexec/...`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SUITE = "trixie"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LIBRARIES = (
    *("librocblas0", "librocsparse0", "librocrand1", "librocfft0", "librocsolver0", "librocalution0"),
    *("libhipblas0", "libhipsparse0", "libhipsolver0", "libhipfft0", "libhiprand1"),
)
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
    SUITE: (
        *("librocblas0", "librocsolver0", "librocsparse0", "libhipblas0"),
        *("libblas3", "libfmt10", "libgfortran5", "libquadmath0"),
    ),
    f"{SUITE}-backports": ("libggml0", "libggml0-backend-hip"),
    "sid": (
        *("llama.cpp-tools", "libllama0", "libc6", "libstdc++6", "libgcc-s1", "libgomp1"),
        *("libssl3t64", "zlib1g", "libzstd1"),
    ),
}

_TARGETS = ("Created-By: Packages", "Origin: Debian", "Label: Debian", "Component: main")
_SETTINGS = """Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{apt}/sources";
Dir::State::lists "{apt}/lists";
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
APT::Architecture "amd64";
APT::Sandbox::User "";
"""
_SOURCE = """Types: deb
URIs: {mirror}
Suites: {suite}
Components: main
Signed-By: {keyring}
"""


def archive() -> str:
    """Return the address of Debian's archive in the system's package sources, whose lists `apt-get update` has read."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", *_TARGETS]
    addresses = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if not addresses:
        raise SystemExit("the system's package sources have no archive of Debian (after apt-get update)")
    return addresses[0]


def fetch(folder: Path, packages: tuple[str, ...] = (*LIBRARIES, *TESTS, *RUNTIME), suite: str = SUITE) -> None:
    """Unpack `packages` of a suite into `folder`; those that are there already are left as they are."""
    apt, kept = folder / "apt", folder / "apt" / "unpacked"
    for name in ("sources", "lists/partial", "cache/archives/partial", "unpacked"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources" / "debian.sources").write_text(_SOURCE.format(mirror=archive(), suite=suite, keyring=KEYRING))
    settings = apt / "apt.conf"
    settings.write_text(_SETTINGS.format(apt=apt))
    environment = {**os.environ, "APT_CONFIG": str(settings)}
    wanted = [name for name in packages if not (kept / name).exists()]
    if wanted:
        subprocess.run(["apt-get", "update"], env=environment, check=True)
    for name in wanted:
        download = apt / "download"
        shutil.rmtree(download, ignore_errors=True)
        download.mkdir()
        subprocess.run(["apt-get", "download", name], cwd=download, env=environment, check=True)
        (file,) = download.glob("*.deb")
        subprocess.run(["dpkg", "-x", str(file), str(folder)], check=True)
        (kept / name).write_text(file.name + "\n")
        shutil.rmtree(download)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] == "llama":
        for suite, packages in LLAMA.items():
            fetch(Path(sys.argv[1]).absolute(), packages, suite)
    elif len(sys.argv) == 2:
        fetch(Path(sys.argv[1]).absolute())
    else:
        raise SystemExit(__doc__)

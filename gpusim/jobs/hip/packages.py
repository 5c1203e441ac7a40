"""Sets of packages that programs on the simulated GPU need, fetched into a folder: nothing is installed.

Debian's packages come by apt-get from the archive that the system's own package sources name, Python's by pip into an
environment in the folder. apt's settings and lists lie in the folder too: the system's own packages and lists stay as
they are. What is unpacked runs on older systems as well, with the C library that comes with it: `gpusim hip --root`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import MILLIONS_0
from gpusim.base.progress import current_reporter
from gpusim.jobs.hip.supervisor import FOLDERS, LIBRARY_PATH_VARIABLE, LOADERS
from workloads.toolchain.compilers import find_hip_tools
from workloads.toolchain.errors import KernelBuildError

RECORD = "packages.json"  # in the folder: each fetched file with its SHA-256
_KEYRINGS = "/usr/share/keyrings/{}-archive-keyring.gpg"
_SETTINGS = """Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{apt}/sources";
Dir::State::lists "{apt}/lists";
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
APT::Architecture "amd64";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
APT::Default-Release "{release}";
"""
_SOURCE = """Types: deb
URIs: {uris}
Suites: {suite}
Components: {components}
Signed-By: {keyring}
"""
# whose place gpusim's own library takes, and what only it needs
_REPLACED = (
    "libamdhip64",
    "libhiprtc",
    "libamd-comgr",
    "libllvm",
    "libclang",
    "libhsa",
    "libhsakmt",
    "libz3",
    "libedit",
    "libxml2",
)
_WRAPPER = """#!/bin/sh
# a program of this folder, under its C library; gpusim hip --root says where libraries are
exec "{loader}" --library-path "${{{variable}-{folders}}}" "{program}" "$@"
"""
_ELF = b"\x7fELF"


class PackageError(UserError):
    """Packages cannot be fetched or unpacked."""


@dataclass(frozen=True)
class Distribution:
    """A distribution with AMD's libraries in its archive."""

    name: str
    """Name, as apt knows its archive's origin."""
    suite: str
    """Suites from which packages are taken; of the last one whatever it has."""
    components: str
    """Components of the archive."""

    def source(self, uris: str) -> str:
        """Return the text of the package source, whose lists have to be signed by the distribution's key."""
        keyring = _KEYRINGS.format(self.name.lower())
        return _SOURCE.format(uris=uris, suite=self.suite, components=self.components, keyring=keyring)


DEBIAN = Distribution("Debian", "trixie", "main")
DEVELOPMENT = Distribution("Debian", "sid experimental", "main")  # ROCm 7
DISTRIBUTIONS = (DEBIAN, Distribution("Ubuntu", "noble", "main universe"))


@dataclass(frozen=True)
class PackageSet:
    """Packages for one purpose."""

    title: str
    """Purpose."""
    debian: tuple[str, ...]
    """Packages of the distribution; those that they depend on are fetched too."""
    headers: tuple[str, ...] = ()
    """Packages with headers that kernels include; what they depend on is left out: HIP's are the system's."""
    wheels: tuple[str, ...] = ()
    """Requirements of the Python environment; empty: no environment."""
    options: tuple[str, ...] = ()
    """Options of `gpusim hip` that a program needs."""
    distributions: tuple[Distribution, ...] = DISTRIBUTIONS
    """Those that have the packages; the first whose archive the system knows is taken."""
    needed: bool = True
    """Whether a program cannot do without the packages of the distribution."""


_MATHEMATICS = ("librocblas0", "librocsparse0", "librocrand1", "librocfft0", "librocsolver0")
_PORTABLE = ("libhipblas0", "libhipsparse0", "libhipfft0", "libhiprand1")
_MATHEMATICS_7 = ("librocblas5", "librocsparse1", "librocrand1", "librocfft0", "librocsolver0")
_PORTABLE_7 = ("libhipblas3", "libhipsparse4", "libhipfft0", "libhiprand1", "librccl1", "libroctx64-4")
PACKAGE_SETS = {
    "cupy": PackageSet(
        "CuPy 13.3 of ROCm 5, for gfx803, gfx900 and gfx906",
        (*_MATHEMATICS, *_PORTABLE, "librccl1"),
        wheels=("cupy-rocm-5-0==13.3.0", "numpy<2"),
        options=("--host-pointers",),
    ),
    "cupy7": PackageSet(
        "CuPy 14.2 of ROCm 7, for gfx908 and gfx90a",
        (*_MATHEMATICS_7, *_PORTABLE_7),
        ("librocthrust-dev", "librocprim-dev"),
        ("cupy-rocm-7-0==14.2.0",),
        ("--gpu", "mi210"),
        (DEVELOPMENT,),
    ),
    "jax": PackageSet(
        "JAX 0.10 of ROCm 7, for gfx908 and gfx90a",
        ("librocfft0", "libhipfft0"),
        wheels=("jax==0.10.2", "jax-rocm7-plugin==0.10.2", "jax-rocm7-pjrt==0.10.2"),
        options=("--gpu", "mi210", "--jax"),
        distributions=(DEVELOPMENT,),
        needed=False,  # without, transforms have a stand-in that fails
    ),
    "libraries": PackageSet(
        "AMD's libraries for programs of your own",
        (*_MATHEMATICS, *_PORTABLE, "librocalution0", "libhipsolver0"),
    ),
}


class PackageFolder:
    """A folder with packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._apt = self.folder / "apt"
        self._record = self.folder / RECORD

    def fetch_debian(self, packages: Sequence[str], source: str, with_dependencies: bool = True) -> None:
        """Unpack packages of a distribution that are not there yet, each checked against its signed lists' SHA-256.

        Args:
            packages: Names of the packages.
            source: Text of the package source (deb822).
            with_dependencies: Unpack those that the packages depend on, too.

        Raises:
            PackageError: apt-get or dpkg is missing or fails, or a file differs from the lists.
        """
        for tool in ("apt-get", "dpkg"):
            if shutil.which(tool) is None:
                raise PackageError(
                    f"packages are fetched by apt-get and unpacked by dpkg; {tool} is not installed here"
                )
        for name in ("sources", "lists/partial", "cache/archives/partial"):
            (self._apt / name).mkdir(parents=True, exist_ok=True)
        (self._apt / "status").touch()
        suites = next((line for line in source.splitlines() if line.startswith("Suites: ")), "Suites: ")
        sources, record = self._apt / "sources" / "distribution.sources", self._read()
        if record["debian"] and sources.exists() and suites not in sources.read_text().splitlines():
            raise PackageError(f"{self.folder} has packages of other suites ({suites}): another folder is needed")
        sources.write_text(source)
        release = suites.split()[-1] if len(suites.split()) > 2 else ""
        (self._apt / "apt.conf").write_text(_SETTINGS.format(apt=self._apt, release=release))
        missing = [name for name in packages if name not in record["debian"]]
        if not missing:
            return
        self._run("apt-get", "update", "-qq")
        names = self._dependencies(missing) if with_dependencies else missing
        names = [name for name in names if name not in record["debian"]]
        listed = self._listed(names)
        download = self._apt / "download"
        shutil.rmtree(download, ignore_errors=True)
        download.mkdir()
        fetched = sum(int(listed[name]["Size"]) for name in names)
        unpacked = sum(int(listed[name].get("Installed-Size", 0)) << 10 for name in names)
        cost = f"{MILLIONS_0(fetched)} MB to fetch, {MILLIONS_0(unpacked)} MB unpacked"
        current_reporter().say(f"gpusim: {self.folder}: {len(names)} packages, {cost}: {', '.join(names)}")
        self._run("apt-get", "download", "-qq", *names, folder=download)
        for name in names:
            (file,) = download.glob(f"{name}_*.deb")
            record["debian"][name] = self._unpack(file, listed[name]["SHA256"])
            self._record.write_text(json.dumps(record, indent=1) + "\n")
        self._wrap_programs(record)

    def make_environment(self, wheels: Sequence[str], python: str) -> Path:
        """Make the folder's Python environment with wheels, which pip checks against their index's SHA-256.

        Args:
            wheels: Requirements.
            python: The interpreter.

        Returns:
            The environment's interpreter.

        Raises:
            PackageError: No environment can be made, or no wheel fits.
        """
        environment, report = self.folder / "env", self.folder / "env" / "report.json"
        interpreter = environment / "bin" / "python"
        record = self._read()
        if record["requirements"] == list(wheels) and interpreter.exists():
            return interpreter
        current_reporter().say(f"gpusim: {environment}: {' '.join(wheels)}")
        self._run(python, "-m", "venv", "--clear", str(environment))
        options = ("--disable-pip-version-check", "--only-binary", ":all:", "--quiet", "--report", str(report))
        self._run(str(interpreter), "-m", "pip", "install", *options, *wheels)
        for one in json.loads(report.read_text())["install"]:
            archive = one["download_info"]["archive_info"]
            name = one["download_info"]["url"].rpartition("/")[2]
            record["wheels"][one["metadata"]["name"]] = {"file": name, **archive.get("hashes", {})}
        record["requirements"] = list(wheels)
        self._record.write_text(json.dumps(record, indent=1) + "\n")
        return interpreter

    def _read(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self._record.read_text()) if self._record.exists() else {}
        return {"debian": {}, "wheels": {}, "requirements": [], **record}

    def _dependencies(self, names: Sequence[str]) -> list[str]:
        """Return the packages and all that they depend on, as apt resolves it on a system without any package."""
        text = self._run("apt-get", "install", "--print-uris", "-qq", "-y", "--no-install-recommends", *names)
        files = [line.split()[1] for line in text.splitlines() if line.startswith("'")]
        wanted = [file.partition("_")[0] for file in files if not file.startswith(_REPLACED)]
        return [*(name for name in wanted if name not in names), *names]

    def _unpack(self, file: Path, listed: str) -> dict[str, Any]:
        """Unpack a package's file and remove it; returns it with its SHA-256, and the programs of its libraries."""
        with file.open("rb") as stream:
            checksum = hashlib.file_digest(stream, "sha256").hexdigest()
        if checksum != listed:
            raise PackageError(f"{file.name}: its SHA-256 is {checksum}, in the archive's lists {listed}")
        self._run("dpkg", "-x", str(file), str(self.folder))
        files = [line.split() for line in self._run("dpkg-deb", "--contents", str(file)).splitlines()]
        executable = [words[5].removeprefix("./") for words in files if words[0][0] == "-" and "x" in words[0]]
        programs = [path for path in executable if path.startswith("usr/lib/") and ".so" not in Path(path).name]
        file.unlink()
        return {"file": file.name, "sha256": checksum, "programs": programs}

    def _listed(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return fields of each package, as the archive's lists have them."""
        listed: dict[str, dict[str, str]] = {}
        for text in self._run("apt-cache", "show", "--no-all-versions", *names).split("\n\n"):
            fields = {key: value for key, _, value in (line.partition(": ") for line in text.splitlines())}
            if "Package" in fields:
                listed[fields["Package"]] = fields
        return listed

    def _wrap_programs(self, record: dict[str, Any]) -> None:
        """Put scripts in the place of libraries' helper programs, which libraries start as they are: under the host's C
        library, for which they may be too new.
        """
        loader = next((self.folder / name for name in LOADERS if (self.folder / name).exists()), None)
        folders = os.pathsep.join(str(self.folder / name) for name in FOLDERS)
        for program in (self.folder / path for one in record["debian"].values() for path in one["programs"]):
            if loader is None or program.read_bytes()[: len(_ELF)] != _ELF:
                continue
            real = program.with_name(f"{program.name}.program")
            os.replace(program, real)
            program.write_text(
                _WRAPPER.format(loader=loader, variable=LIBRARY_PATH_VARIABLE, folders=folders, program=real)
            )
            program.chmod(0o755)

    def _run(self, *command: str, folder: Path | None = None) -> str:
        """Run a program and return its output; raises PackageError with what it says if it fails."""
        environment = {**os.environ, "APT_CONFIG": str(self._apt / "apt.conf"), "LC_ALL": "C"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            errors = [line for line in lines if line.startswith(("E: ", "ERROR: "))] or lines[-3:]  # apt's, pip's
            raise PackageError(f"{Path(command[0]).name} {command[1]}: {' '.join(errors) or 'failed'}")
        return done.stdout


def find_source(distributions: Sequence[Distribution] = DISTRIBUTIONS) -> str:
    """Return the package source of the first distribution whose archive the system's own sources name.

    Raises:
        PackageError: There is none, or no apt-get.
    """
    if shutil.which("apt-get") is None:
        raise PackageError("packages are fetched by apt-get from the system's sources; apt-get is not installed here")
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    known = [line.split() for line in done.stdout.splitlines() if len(line.split()) == 2]
    for distribution in distributions:
        uris = [uri for origin, uri in known if origin == distribution.name]
        if uris:
            return distribution.source(uris[0])
    names = " or ".join(one.name for one in distributions)
    raise PackageError(f"the system's package sources have no archive of {names} whose lists apt-get update has read")


def fetch_set(name: str, folder: Path, python: str = sys.executable, source: str = "") -> list[str]:
    """Fetch a set of packages into a folder.

    Args:
        name: Name of the set.
        folder: The folder.
        python: Interpreter of its environment.
        source: Text of the package source; empty: the system's distribution.

    Returns:
        The command that runs a program with it.

    Raises:
        PackageError: There is no such set, or it cannot be fetched.
    """
    if name not in PACKAGE_SETS:
        raise PackageError(unknown_name("set", name, PACKAGE_SETS))
    chosen, packages = PACKAGE_SETS[name], PackageFolder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    command = ["gpusim", "hip", *chosen.options]
    if chosen.debian and not source:
        try:
            source = find_source(chosen.distributions)
        except PackageError as error:
            if chosen.needed:
                raise
            current_reporter().say(f"gpusim: without {', '.join(chosen.debian)}: {error}")
    if source:
        packages.fetch_debian(chosen.debian, source)
        packages.fetch_debian(chosen.headers, source, with_dependencies=False)
        command += ["--root", str(folder)]
    command.append("--")
    if not chosen.wheels:
        return [*command, "PROGRAM"]
    packages.make_environment(chosen.wheels, python)
    return [*command, str(folder / "env" / "bin" / "python"), "SCRIPT.py"]


def explain_missing_compiler() -> str:
    """Return what kernels that are compiled as a program runs lack on this system; empty: nothing."""
    try:
        find_hip_tools()
    except KernelBuildError as error:
        return str(error)
    return ""

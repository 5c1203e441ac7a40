"""Builds the corpus: python -m tests.corpus.build [--check].

The base variant's code objects lie as they are in `objects/`, every other variant's in one archive of its own.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
KERNELS = FOLDER / "kernels"
OBJECTS = FOLDER / "objects"
FLAGS = (
    *("-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx803", "-nogpulib"),
    *("-fno-ident", "-cl-kernel-arg-info", "-Wall", "-Werror"),
)
RELEASES = {14: "14.0.6", 19: "19.1.7"}  # whose output is committed
_ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file knows: archives of equal objects are equal


@dataclass(frozen=True)
class Variant:
    """One way to build every kernel."""

    clang: int
    optimisation: int
    version: int

    @property
    def name(self) -> str:
        """Such as clang19-O3-v5."""
        return f"clang{self.clang}-O{self.optimisation}-v{self.version}"


BASE = Variant(19, 3, 5)
VARIANTS = (
    BASE,
    *(
        Variant(clang, optimisation, version)
        for clang, versions in ((14, (2, 3, 4)), (19, (4, 5)))
        for optimisation in (1, 3)
        for version in versions
        if Variant(clang, optimisation, version) != BASE
    ),
)


def sources() -> list[Path]:
    """The corpus in OpenCL C."""
    return sorted(KERNELS.glob("*.cl"))


def missing_tool(clang: int) -> str | None:
    """Why the variants of a clang cannot be rebuilt here; None where they can."""
    for tool in (f"clang-{clang}", "ld.lld-19"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    found = subprocess.run(
        [f"clang-{clang}", "-dumpversion"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return None if found == RELEASES[clang] else f"clang {found} is installed, the objects are of {RELEASES[clang]}"


def compile_objects(variant: Variant) -> dict[str, bytes]:
    """Code objects by source name. Raises CalledProcessError."""
    out = {}
    flags = [*FLAGS, f"-O{variant.optimisation}", f"-mcode-object-version={variant.version}"]
    with tempfile.TemporaryDirectory() as scratch:
        relocatable, linked = Path(scratch) / "kernel.o", Path(scratch) / "kernel.hsaco"
        for source in sources():
            # run beside the source: no path of this machine gets into the object
            command = [f"clang-{variant.clang}", *flags, "-c", source.name, "-o", str(relocatable)]
            subprocess.run(command, cwd=KERNELS, check=True)
            subprocess.run(["ld.lld-19", "-shared", "--no-undefined", str(relocatable), "-o", str(linked)], check=True)
            out[source.stem] = linked.read_bytes()
    return out


@cache
def committed(variant: Variant) -> Mapping[str, bytes]:
    """The committed code objects by source name."""
    if variant == BASE:
        return {path.stem: path.read_bytes() for path in sorted(OBJECTS.glob("*.hsaco"))}
    with zipfile.ZipFile(OBJECTS / f"{variant.name}.zip") as archive:
        return {Path(name).stem: archive.read(name) for name in archive.namelist()}


def write(variant: Variant, objects: Mapping[str, bytes]) -> None:
    """Put a variant's code objects where `committed` finds them."""
    OBJECTS.mkdir(exist_ok=True)
    if variant == BASE:
        for old in OBJECTS.glob("*.hsaco"):
            old.unlink()
        for name, contents in objects.items():
            (OBJECTS / f"{name}.hsaco").write_bytes(contents)
        return
    with zipfile.ZipFile(OBJECTS / f"{variant.name}.zip", "w") as archive:
        for name, contents in sorted(objects.items()):
            entry = zipfile.ZipInfo(f"{name}.hsaco", _ARCHIVE_DATE)
            archive.writestr(entry, contents, zipfile.ZIP_DEFLATED, 9)


def differences(variant: Variant) -> list[str]:
    """What is wrong with a variant's committed objects; none when they equal what the sources give."""
    fresh, kept = compile_objects(variant), committed(variant)
    problems = [f"{variant.name}: {name} is missing" for name in sorted(fresh.keys() - kept.keys())]
    problems += [f"{variant.name}: {name} has no source" for name in sorted(kept.keys() - fresh.keys())]
    common = sorted(fresh.keys() & kept.keys())
    return problems + [
        f"{variant.name}: {name} differs from its source" for name in common if fresh[name] != kept[name]
    ]


def main() -> None:
    """Rebuilds, or compares with --check."""
    problems = []
    for variant in VARIANTS:
        reason = missing_tool(variant.clang)
        if reason:
            raise SystemExit(reason)
        if "--check" in sys.argv[1:]:
            problems += differences(variant)
        else:
            write(variant, compile_objects(variant))
    if problems:
        raise SystemExit("\n".join(problems))


if __name__ == "__main__":
    main()

"""AMD's libraries for gfx803 as Debian packages them: where their files are, and what of their kernels can be executed.

The variable GPUSIM_VENDOR_KERNELS names a folder with the unpacked packages (`dpkg -x PACKAGE.deb FOLDER`, one folder
for all or one for each); without it, installed ones are looked for.
"""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

from docs._site.pages import table
from gpusim.base.errors import UserError
from gpusim.base.formats import COUNT
from gpusim.cli.kernels import examine

VARIABLE = "GPUSIM_VENDOR_KERNELS"
TENSILE = "rocblas/*/library/TensileLibrary_gfx803.co"
HIP_OF_TENSILE = "rocblas/*/library/Kernels.so-000-gfx803.hsaco"
ROCRAND = "librocrand.so.*.*"
# by package, in the order of the page
FILES = {
    "librocblas0": (TENSILE, HIP_OF_TENSILE, "librocblas.so.*.*"),
    "librocsparse0": ("librocsparse.so.*.*",),
    "librocrand1": (ROCRAND,),
    "librocfft0": ("librocfft.so.*.*",),
}
HEAD = ("package", "file", "kernels", "can be executed", "instructions")


def found(pattern: str) -> Path:
    """The file of a pattern; UserError where there is none."""
    given = os.environ.get(VARIABLE)
    folder = Path(given or "/usr/lib/x86_64-linux-gnu")
    files = sorted(folder.rglob(pattern) if given else folder.glob(pattern))
    if not files:
        raise UserError(f"no {pattern} in {folder}; {VARIABLE} names another folder")
    return files[0]


def _version(package: str) -> str:
    """Of the unpacked or installed package, from the first line of its list of changes."""
    name = f"doc/{package}/changelog.Debian.gz"
    given = os.environ.get(VARIABLE)
    path = next(Path(given).rglob(name), None) if given else Path("/usr/share", name)
    if path is None or not path.exists():
        return "?"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.readline().partition("(")[2].partition(")")[0]


def rows(pattern: str) -> Iterator[tuple[str, ...]]:
    """A file's row without the package, then one for each reason that keeps kernels out."""
    verdict = examine(found(pattern))
    counts = (verdict.kernels, verdict.executable, verdict.instructions)
    yield f"`{verdict.file.name}`", *(COUNT(count).replace(",", " ") for count in counts)
    if verdict.refused:
        yield f"– {verdict.refused}", "", "", ""
    for reason, count in verdict.reasons.most_common():
        yield f"– {reason}", str(count), "", ""


def page_table() -> str:
    """docs/results/vendor-kernels.md: every file."""
    lines = []
    for package, patterns in FILES.items():
        name = f"`{package}` {_version(package)}"
        for pattern in patterns:
            for row in rows(pattern):
                lines.append((name, *row))
                name = ""
    return table(HEAD, lines)

"""Writes the sizes of rocBLAS's logic files that AMD measured again after the campaign of most.

python -m docs._site.retuned_sizes CLONE

CLONE is a clone of github.com/ROCm/rocBLAS with its history. A logic file has an efficiency for each size, and its
history says since when: sizes whose value at rocm-5.5.1 came later than a table's campaign are those of `retuned`.
"""

import argparse
import csv
import re
import subprocess
from pathlib import Path

from gpusim.base.formats import COUNT
from gpusim.config import files
from gpusim.lab.silicon.measured import FOLDER

RELEASE = "rocm-5.5.1"  # of Debian's librocblas0, whose kernels are run
LOGIC = "library/src/blas3/Tensile/Logic/asm_full"
MOVED = "aldebaran_104cu"  # where the files lie since 2022-08-30
OPERANDS = {"NN": "Ailk_Bljk", "NT": "Ailk_Bjlk", "TN": "Alik_Bljk"}
# names of the files, in the order of time, transposes of the table, and the last month of its campaign
TABLES = {
    "mi200-sgemm": (("SB",), ("NN", "NT", "TN"), "2021-07"),
    "mi200-dgemm": (("DB",), ("NN",), "2021-07"),
    "mi200-bf16": (("BBH", "BBS_BH"), ("NN", "NT", "TN"), "2021-12"),
}
ENTRY = re.compile(r"- - (?:- )?\[(\d+), *(\d+), *1, *(\d+)(?:, *[\d, ]+)?\]\s*\n\s*- \[\d+, *([\d.eE+-]+)\]")
SAME = 0.002  # two values nearer than this share are one: files round differently


def git(clone: Path, *arguments: str) -> str:
    """Return what git prints; nothing where it fails, as for a file that a commit lacks."""
    done = subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, text=True, errors="replace")
    return done.stdout


def sizes_in(logic: str) -> dict[tuple[str, ...], float]:
    """Return a logic file's efficiencies by (m, n, k)."""
    return {match.group(1, 2, 3): float(match[4]) for match in ENTRY.finditer(logic)}


def first_seen(clone: Path, paths: list[str]) -> dict[tuple[str, ...], str]:
    """Return for each size of the release the date of the commit that brought its value."""
    commits = sorted(
        (line.split(" ", 1)[0], line.split(" ", 1)[1], path)
        for path in paths
        for line in git(clone, "log", "--full-history", "--format=%cs %H", RELEASE, "--", path).splitlines()
    )
    seen: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for date, commit, path in commits:
        for size, value in sizes_in(git(clone, "show", f"{commit}:{path}")).items():
            values = seen.setdefault(size, [])
            if not any(abs(value - known) <= SAME * value for known, _ in values):
                values.append((value, date))
    of_release = sizes_in(git(clone, "show", f"{RELEASE}:{paths[-1]}"))
    return {
        size: next(date for known, date in seen[size] if abs(value - known) <= SAME * value)
        for size, value in of_release.items()
    }


def write_table(clone: Path, name: str) -> int:
    """Write a table's retuned sizes beside it; return how many."""
    suffixes, transposes, campaign = TABLES[name]
    rows = []
    for transpose in transposes:
        stems = [f"aldebaran_Cijk_{OPERANDS[transpose]}_{suffix}.yaml" for suffix in suffixes]
        paths = [*(f"{LOGIC}/{stem}" for stem in stems), f"{LOGIC}/{MOVED}/{stems[-1]}"]
        rows += [
            (transpose, *size, date)
            for size, date in first_seen(clone, paths).items()
            if date[: len(campaign)] > campaign
        ]
    with (files.SHIPPED / FOLDER / f"{name}-retuned.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("transposes", "m", "n", "k", "since"))
        writer.writerows(sorted(rows))
    return len(rows)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    clone = parser.parse_args().clone
    for name in TABLES:
        print(f"{name}: {COUNT(write_table(clone, name))} sizes")


if __name__ == "__main__":
    main()

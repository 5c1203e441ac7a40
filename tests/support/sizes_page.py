"""The tables of docs/sizes.md, from the sweeps beside it: `python -m tests.support.sizes_page`."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.pages import renewed, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sizes.md"
KERNELS = ("sgemm_dib_tiled", "dib_algorithm3")
HEAD = (
    "layer",
    "share of L2",
    "SIB of 16 KiB",
    "64",
    "256",
    "512",
    "the prefetch buffer changes that by at most",
    "entries lost at 16 KiB",
)
SIZES_KIB = (16, 64, 256, 512)
DEFAULT_SHARE = "0.5"


def points(kernel: str) -> list[Mapping[str, str]]:
    """Of a kernel's sweep."""
    with (PAGE.parent / "sizes" / f"{kernel}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _rows(kernel: str) -> Iterator[list[str]]:
    found: dict[tuple[str, str], dict[int, list[int]]] = {}
    lost: dict[tuple[str, str], int] = {}
    for point in points(kernel):
        key = point["config"], point.get("engine.l2_share") or DEFAULT_SHARE
        sizes = found.setdefault(key, {})
        if int(point["engine.sib_kib"]) == SIZES_KIB[0]:
            lost[key] = max(lost.get(key, 0), int(point["engine.sib_evictions"]))
        sizes.setdefault(int(point["engine.sib_kib"]), []).append(int(point["kernel.cycles"]))
    for (layer, share), sizes in found.items():
        apart = max(max(cycles) / min(cycles) - 1 for cycles in sizes.values())
        cells = [f"{min(sizes[kib]) / 1000:,.0f}" if kib in sizes else "" for kib in SIZES_KIB]
        yield [layer, share, *cells, f"{apart:.1%}", f"{lost[layer, share]:,}"]


def cycles_table(kernel: str) -> str:
    """Thousand cycles with the best prefetch buffer, by layer, share and SIB."""
    return table(HEAD, list(_rows(kernel)))


def page(text: str) -> str:
    """The page with its tables made anew."""
    return renewed(text, {kernel: lambda kernel=kernel: cycles_table(kernel) for kernel in KERNELS})  # type: ignore[misc]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

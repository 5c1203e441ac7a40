"""docs/correlation: the results of `gpusim correlate`, and the layers before and after what was fitted."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

import gpusim
from gpusim.config.measured import load_measured, read_points
from gpusim.correlation import report
from gpusim.correlation.compare import Compared, groups
from gpusim.correlation.kernels import KernelSource, kernel_files
from gpusim.correlation.predict import Conditions, predict
from tests.support.pages import table

# cycles at commit 3648221: GPU, layer: dense, with the engine
BEFORE = {
    ("mi6", "A"): (3158503, 2043308),
    ("mi6", "B"): (3158503, 1100071),
    ("mi6", "C"): (842009, 389318),
    ("r9nano", "A"): (1650755, 1041963),
    ("r9nano", "B"): (1650755, 562524),
    ("r9nano", "C"): (519266, 388374),
}
RESULTS = Path(__file__).resolve().parents[2] / "docs" / "correlation"
TABLE = "rocblas-r9nano"
VEGA = ("vega10-sgemm", "vega20-sgemm", "vega20-dgemm", "vega20-hgemm")
EXACT, SAMPLED = "-exact", "-sampled"  # behind its name: some of its points run whole, and the same as they are usually
EXTRAPOLATED = "-extrapolated"  # behind its name: the whole table by a version that extrapolated what is large
SEARCH = "-search"  # behind a table's name: what `--fit` has found
HEAD = ("GPU", "layer", "dense before", "dense after", "engine before", "engine after")


def layers() -> str:
    """Layers A, B and C on both GPUs, from full runs."""
    rows: list[Sequence[str]] = []
    for (gpu, layer), (dense, engine) in BEFORE.items():
        both = gpusim.run(f"layer{layer}.yaml", engine="both", verify=False, sets={"gpu": gpu}, quiet=True)
        after = both.dense.kernel.cycles, both.sparse.kernel.cycles
        rows.append([gpu, layer, *map(str, (dense, after[0], engine, after[1]))])
    return table(list(HEAD), rows)


RX560 = {  # what is changed, and how
    "as shipped": {},
    "banks are address bits": {"gpu.dram.bank_masks": [0x400, 0x800, 0x8000, 0x10000]},
}


def rx560() -> str:
    """GFLOPS of the points measured on an RX 560, measured and modelled."""
    rows: list[Sequence[str]] = [["measured", "130 to 150", "8 to 10", "130 to 150"]]
    for name, sets in RX560.items():
        measured, document = load_measured("sgemm-rx560", sets)
        points = read_points(document.path.parent / measured.points)
        kernels = KernelSource(kernel_files(measured.kernels, None), multiply_accumulate=False)
        condition = Conditions.of(measured, limit_gflop=1.0, sampling=None)
        times = [predict(point, condition, kernels).time_us for point in points]
        rows.append([name, *(f"{p.gflop / (t * 1e-6):.0f}" for p, t in zip(points, times, strict=True))])
    return table(["GFLOPS", "N = 4095", "N = 4096", "N = 4097"], rows)


def held_to_whole() -> str:
    """Points by earlier versions' extrapolation, whole, and as they are run now, each against the whole run."""
    earlier, whole, now = (_rows(suffix) for suffix in (EXTRAPOLATED, EXACT, SAMPLED))
    rows = []
    for label, exact in whole.items():
        old, new = earlier[label], now[label].prediction
        true_us, bar_us = exact.prediction.time_us, new.half_width_us
        off = f"{100 * (new.time_us / true_us - 1):+.1f} %"
        assert bar_us is not None
        rows.append(
            [
                label,
                f"{100 * (old.prediction.time_us / true_us - 1):+.1f} %",
                *(f"{row.ratio:.2f}" for row in (old, exact)),
                new.how if new.how == "whole" else f"{100 * new.simulated:.0f} %",
                *([off, f"{100 * bar_us / true_us:.1f} %"] if bar_us else ["–", "–"]),
                "–" if not bar_us else "yes" if abs(new.time_us - true_us) <= bar_us else "no",
            ]
        )
    heads = ["product", "extrapolated − whole", "ratio, extrapolated", "ratio, whole", "simulated now"]
    return table([*heads, "now − whole", "half-width", "within"], rows)


def vega() -> str:
    """Tables of Vega GPUs: how much of each was run, and how far off kernels of each kind are."""
    rows = []
    for name in VEGA:
        measured, document = load_measured(name)
        held = list(_rows("", name).values())
        ratios = [row.ratio for row in held]
        off = [abs(ratio - 1) for ratio in ratios]
        kinds: dict[str, list[float]] = {kind: [] for kind in ("assembly", "HIP", "general")}
        for row in held:
            kernel = row.prediction.point.kernel
            kind = "general" if "_GB_" in kernel else "HIP" if "_ISA000_" in kernel else "assembly"
            kinds[kind].append(abs(row.ratio - 1))
        points = len(read_points(document.path.parent / measured.points))
        rank = groups(held)["all"].rank_correlation
        rows.append([
            f"[{name}](correlation/{name}.md)", f"{len(held)} of {points}",
            *(f"{100 * value:.1f} %" for value in (mean(off), median(off))),
            f"{min(ratios):.2f}", f"{max(ratios):.2f}", f"{rank:.3f}", f"{measured.launch_us:g} µs",
            *(f"{len(own)}: {100 * mean(own):.1f} %" if own else "–" for own in kinds.values()),
        ])  # fmt: skip
    heads = ["table", "points run", "mean error", "median", "least", "most", "rank correlation", "launch"]
    return table([*heads, "assembly kernels", "HIP kernels", "general batches"], rows)


def _rows(suffix: str, name: str = TABLE) -> dict[str, Compared]:
    contents = (RESULTS / f"{name}{suffix}.json").read_text(encoding="utf-8")
    return {row.prediction.point.label: row for row in report.restored(json.loads(contents)).rows}


def summary() -> str:
    """docs/README.md: what the shipped result says in a few words."""
    found = groups(list(_rows("").values()))
    points, whole = found["all"], found["run whole"]
    return (
        f"`gpusim correlate` runs {points.count} matrix products that AMD timed on a Fiji card, with AMD's own kernels "
        f"from the user's package, and compares: mean error {100 * points.mean_absolute_error:.1f} %, "
        f"{points.least:.2f} to {points.most:.2f} times the measured time. "
        f"{whole.count} were run whole, the others [sampled, each with its half-width](correlation.md#large-products)."
    )


SECTIONS = {"held to silicon": summary}


def result(name: str, contents: str) -> str:
    """The page of a result kept as JSON. name: its table's, or that with SEARCH behind it."""
    measured, _ = load_measured(name.removesuffix(SEARCH))
    return report.markdown(measured, report.restored(json.loads(contents)))

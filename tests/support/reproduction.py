"""A small publication in a folder, and made-up results of its points."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpusim.lab.papers.claims import JudgedClaim, judge_all
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.page.writing import RenderedPublication
from gpusim.lab.papers.plan import plan_points
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import PointRecord, ReproductionResults

INDEX = """
title: A test's publication
source: Nobody 2020
dense_data: {workload.data: synthetic, workload.sparsity: 0.5}
paths:
  best: {title: best dense, sparse: false, sets: {kernels.dense: sgemm}, seconds_per_gmac: 5}
  old: {title: old dense, sparse: false, sets: {kernels.dense: sgemm_4x4}, seconds_per_gmac: 5}
  soft: {title: software, sparse: true, sets: {kernels.sparse: software}, seconds_per_gmac: 9}
  engine: {title: engine, sparse: true, seconds_per_gmac: 7}
  theirs: {title: their engine, sparse: true, sets: {kernels.sparse: sgemm_dib_gather}, seconds_per_gmac: 20}
comparisons:
  source: {title: their way, path: theirs, base: old}
  ours: {title: our way, path: engine, base: best}
engine_share: {title: own share, path: engine, base: soft}
figures: [speed, cache, train, place]
"""
LAYER = (
    "{name: tiny, input_channels: 2, output_channels: 20, input_height: 3, input_width: 3, filter_size: 3, "
    "stride: 1, padding: 1}"
)
SPEED = f"""
kind: compared
title: Speed
source: Figure 1
cases:
  one: {{run: layerC, sets: {{workload.layer: {LAYER}}}}}
  many: {{run: layerC, count: 3, sets: {{workload.layer: {LAYER}, workload.seed: 2}}}}
batches: [1, 2]
data:
  half: {{workload.data: synthetic, workload.sparsity: 0.5}}
  most: {{workload.data: synthetic, workload.sparsity: 0.9}}
paths: [best, old, soft, engine, theirs]
normalized_to: best
claims:
  - text: mean
    quote: it is twice as fast
    place: page 1
    said: 2×
    measure: speedup
    aggregation: mean of ratios
    where: {{data: half}}
    value: {{value: 2, tolerance: 0.1, basis: assumed}}
  - text: grows with the batch
    own: a test asks
    measure: speedup
    aggregation: each
    order: {{label: batch, more: 2, less: 1}}
"""
CACHE = f"""
kind: compared
title: Cache
source: Figure 2
cases: {{one: {{run: layerC, sets: {{workload.layer: {LAYER}}}}}}}
batches: [1]
data:
  half: {{workload.data: synthetic, workload.sparsity: 0.5}}
paths: [best, old, engine, theirs]
measures: [transactions, hit_rate, hit_rate_with_merges, read_latency]
claims:
  - {{text: fewer, own: a test asks, measure: transactions, aggregation: each, bound: {{below: 1}}}}
"""
TRAIN = """
kind: training
title: Training
source: Table 1
networks: {AlexNet: {figure: speed, where: {data: half, batch: 2}}}
"""
PLACE = f"""
kind: map
title: Place
source: Not there
cases: {{one: {{run: layerC, sets: {{workload.layer: {LAYER}}}}}}}
batches: [1]
data: {{half: {{workload.data: synthetic, workload.sparsity: 0.5}}}}
paths: [soft, engine]
x: {{title: arrays, values: {{"1": {{gpu.shader_arrays: 1}}, "2": {{gpu.shader_arrays: 2}}}}}}
y:
  title: L2
  values:
    "1024": {{gpu.l2.size_kib: 1024, engine.sib_kib: 64, engine.prefetch_buffer_kib: 64}}
    "2048": {{}}
ratios: [{{title: engine over software, path: engine, base: soft}}]
"""
FIGURES = {"speed": SPEED, "cache": CACHE, "train": TRAIN, "place": PLACE}


def written(folder: Path, index: str = INDEX, **figures: str) -> Path:
    """The publication's file, with some of its figures replaced."""
    inside = folder / "test"
    inside.mkdir(exist_ok=True)
    for name, text in {**FIGURES, **figures}.items():
        (inside / f"{name}.yaml").write_text(text)
    path = folder / "test.yaml"
    path.write_text(index)
    return path


def loaded(folder: Path, index: str = INDEX, **figures: str) -> Reproduction:
    """The publication, as it is read."""
    return load_reproduction(str(written(folder, index, **figures)))


def judged(reproduction: Reproduction, results: ReproductionResults) -> list[JudgedClaim]:
    """The claims of all figures, judged by these results."""
    return judge_all(Publication(reproduction, results))


def rendered(reproduction: Reproduction, results: ReproductionResults) -> RenderedPublication:
    """The pages and tables of these results."""
    return RenderedPublication(Publication(reproduction, results))


def made_up(cycles: int, zeros: float | None = None, **metrics: Any) -> PointRecord:
    """A run of so many cycles, at 1 GHz."""
    held: dict[str, Any] = {"kernel.cycles": cycles, "kernel.time_us": cycles / 1e3, **metrics}
    if zeros is not None:
        held["data.zero_fraction"] = zeros
    return PointRecord(held, 0.0, 1.0, [("kernel", cycles)], 1.0)


def results_of(reproduction: Reproduction, cycles: Mapping[str, int], **by_point: PointRecord) -> ReproductionResults:
    """Results of all points: cycles by way; some points as they are given."""
    plan = plan_points(reproduction, reproduction.figures)
    points = {}
    for key, planned in plan.points.items():
        labels = planned.point.labels
        zeros = {"half": 0.5, "most": 0.9}.get(labels["data"])
        points[key] = made_up(cycles[labels["path"]] * int(labels["batch"]), zeros, **_memory(labels["path"]))
    return ReproductionResults("test", {**points, **by_point})


def _memory(path: str) -> dict[str, Any]:
    """Counts of L2: of 100 accesses 60 hit with engines, and 70 and 20 merges without."""
    sparse = path in ("engine", "theirs", "soft")
    return {
        "l2.transactions": 100 if sparse else 200,
        "l2.hits": 60 if sparse else 140,
        "l2.mshr_merges": 0 if sparse else 40,
        "l2.hit_rate": 0.6 if sparse else 0.7,
        "l2.read_latency_cycles": 90.0 if sparse else 60.0,
    }

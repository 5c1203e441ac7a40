"""Columns of publications' tables: a name of a record's label or value, a title, a format.

A record is what a figure knows of one of its places (`gpusim.lab.papers.publication.FigureRecord`).
"""

from gpusim.base.formats import (
    COUNT,
    DIGITS_3,
    FIXED_2,
    FIXED_3,
    GROUPED_0,
    GROUPED_1,
    GROUPED_2,
    GROUPED_DIGITS_4,
    PERCENT,
    SHARE_0,
    TIMES,
    amount,
)
from gpusim.base.table import Column
from gpusim.base.view import View, column
from gpusim.lab.papers.formats import TIMES_3, plus_minus_share, thousands
from workloads.circulant import STAGES


def _view(*columns: Column, name: str = "", title: str = "") -> View:
    return View(columns, name, title)


CASE = (column("case"), column("batch"), column("data"))
# of im2col's matrix, whose padding is zeros whatever the maps hold, and of what its windows meet of the maps
ZEROS = ("zeros", "zeros of the maps")
LIMITS = ("limit 1/(1-s)", "limit without padding")

BREAKDOWN = _view(
    *CASE,
    column("way"),
    column("conversion", write=thousands),
    column("product", write=thousands),
    column("share", "conversion's share", PERCENT),
    column("gain", "speed-up", TIMES),
)
ENGINE_MODES = ("accurate", "prudent", "hasty", "prefetched")
ABLATION = _view(
    column("case"),
    column("batch"),
    column("way"),
    column("change", "engine"),
    column("cycles", write=thousands),
    column("slowdown", "of its time as it is", TIMES),
    column("gain", "over the dense kernel", TIMES),
    column("gain_kept", "of the gain", PERCENT),
    *(column(mode, write=PERCENT) for mode in ENGINE_MODES),
    column("anew", "searches anew, a request", FIXED_3),
    column("searching", "shifters busy", PERCENT),
    column("wasted", "lines wasted", PERCENT),
    column("storage_kib", "SIB and buffers, KiB", GROUPED_DIGITS_4),
    column("area_um2", "beside L2, µm²", amount),
    column("energy_uj", "memory energy, µJ", amount),
)
CURVES = _view(
    column("map"),
    column("first", write=PERCENT),
    column("sparsity", "last", PERCENT),
    column("later_spread", "moves later by", PERCENT),
)
MONITOR = _view(
    column("start", "first iteration"), column("last"), column("measured", write=PERCENT), column("true", write=PERCENT)
)
OVERHEADS = _view(
    column("network"),
    column("iterations", write=amount),
    column("exhaustive", "exhaustive, published", PERCENT),
    column("monitored", "monitor, published", PERCENT),
    column("modelled", "monitor, by the model", PERCENT),
    column("measured_exhaustive", "exhaustive, measured", PERCENT),
    column("measured_overhead", "monitor, at that cost", PERCENT),
)
OVERHEADS_MEASURED = _view(
    column("network"),
    column("plan.batch"),
    column(lambda row: 1e3 * row["plain_s"], "an iteration, ms", FIXED_2),
    column(lambda row: 1e3 * row["exhaustive_s"], "measuring in each, ms", FIXED_2),
    column(lambda row: 1e3 * row["monitored_s"], "monitored, ms", FIXED_2),
    column("plan.iterations", write=amount),
    column("share_measured", "of them measured", PERCENT),
    column("overhead.monitored", "monitor's overhead", PERCENT),
    column("plan.place", "counted on the"),
    column("device"),
    name="measured",
    title="Measured, on random images:",
)
CLOSED_LOOP = _view(
    column("training"),
    column("iterations", write=COUNT),
    column("policy", "decided by"),
    column("time_s", "time, s", GROUPED_1),
    column("speedup", "speed-up", TIMES_3),
    column("doubt", "by lines between points, at most", plus_minus_share),
    column("measuring", "monitor's own part", PERCENT),
    column("sparse", write=PERCENT),
    column("misjudged", "not as the oracle", PERCENT),
    column("changes"),
)
SPARSE_PASSES = _view(
    column("training"),
    column("layer"),
    column("what", "pass"),
    column("part", "part of an iteration", PERCENT),
    column(lambda row: ", ".join(map(SHARE_0, row["zeros"])), "zeros"),
    column(lambda row: ", ".join(map(TIMES, row["gains"])), "speed-up there"),
    column("line_off", write=PERCENT),
    column("break_even", "break-even", PERCENT),
    *(column(policy, f"sparse, {policy}", PERCENT) for policy in ("one threshold", "closed loop", "oracle")),
    name="passes",
    title="Passes that can skip zeros, as simulated:",
)
LIBRARIES = _view(
    column("zeros", write=PERCENT),
    column("converter", "converted by"),
    *(column(what, f"{what}, us", GROUPED_0) for what in ("dense", "sparse", "conversion")),
    column("conversion_share", "conversion's share", PERCENT),
    column("alone", "speed-up, product alone", TIMES),
    column("speedup", "speed-up, with conversion", TIMES),
)
AREA = _view(
    column("engine"),
    column("part"),
    column("what"),
    column("count", write=amount),
    column("um2", "µm²", amount),
    column("listed_by"),
    column("where"),
)
GRIDS = _view(
    *(column(name) for name in ("layer", "library", "result", "tile")),
    *(column(name, write=amount) for name in ("block", "registers")),
    column("grid", "grid as printed", amount),
    column("blocks", "grid by (9)", amount),
    column("at_once", "blocks by (10)", amount),
    column("utilisation", "utilisation by (11)", PERCENT),
)
TRAINING = _view(
    column("network"),
    column("published", "P, published", PERCENT),
    column("whose"),
    column("layers"),
    column("mean_speedup", "mean of the layers", TIMES),
    column("harmonic", "weighted by time", TIMES),
    column("all_passes", "training, if gradients gained as much", TIMES),
    column("conv_share", "the layers' part of an iteration", PERCENT),
    column("simulated"),
    column("training_speedup", "training, forward passes alone", TIMES),
)
INSTRUCTIONS = _view(
    column("run"),
    column("kernels", write=COUNT),
    column("static", "instructions in their code", COUNT),
    column("dynamic", "executed, millions", DIGITS_3),
    column("per_million", "static, a million executed", DIGITS_3),
)
LEARNING = (
    column("weights"),
    column("seeds"),
    column("last", "epochs"),
    column("loss", "loss, last epoch"),
    column("train_accuracy", "accuracy on its own images"),
    column("test_accuracy"),
    column("accuracy_lost"),
)
SECONDS_TO_ACCURACY = _view(
    column("system"),
    column("accuracy"),
    column("reached", "seeds that reach it"),
    column("epochs"),
    column("iteration", "iteration, ms"),
    column("seconds", "simulated seconds"),
    column("joules", "memory system, J"),
    column("compute_joules", "compute units, J"),
    column("gain", "first system's seconds over these"),
    column("epochs_over_first", "epochs over the first's"),
)
FASTEST_ITERATIONS = _view(
    column("network"),
    column("batch"),
    column("system"),
    column("iteration", "iteration, ms"),
    column("forward", "forward, ms", GROUPED_2),
    column("backward", "backward, ms", GROUPED_2),
    column("update", "update, ms", GROUPED_2),
    column("millijoules", "memory system, mJ", GROUPED_1),
    column("compute", "compute units, mJ"),
)
FASTEST_RATIOS = _view(
    column("network"),
    column("batch"),
    column("of", "system"),
    column("over", "over"),
    column("gain", "speed-up"),
    column("energy_gain", "memory system's energy, ratio", TIMES),
    name="ratios",
)
FASTEST_PASSES = _view(
    column("network"),
    column("batch"),
    column("layer"),
    column("part", "pass"),
    column("system"),
    column("way"),
    column("time", "time, ms", GROUPED_2),
    name="passes",
    title="Passes whose fastest times differ between the systems.",
)
SCALING = _view(
    column("run"),
    column("count", "GPUs"),
    column("iteration_ms", "iteration, ms", GROUPED_2),
    column("sum_ms", "sum of gradients, ms", GROUPED_2),
    column("exposed_ms", "exposed, ms", GROUPED_2),
    column("gain", "speed-up over the first way", TIMES),
)
FLOW_TIMES = _view(
    column("run"),
    *(column(f"{stage}_ms", f"{stage}, ms", GROUPED_2) for stage in STAGES),
    column("links", "links, ms"),
    column("one GPU", "one GPU, ms", GROUPED_2),
    column("in stages, each waits", "in stages, each waits, ms", GROUPED_2),
    column("in stages, none waits", "none waits, ms", GROUPED_2),
    column("stages_streaming", "over one GPU", TIMES),
    column("stages_over_batches", "over a batch on each GPU", TIMES),
    name="times",
    title="Times of an iteration.",
)
FLOW_MEMORY = _view(
    column("run"),
    *(column(f"{stage}_mib", f"{stage}, MiB", GROUPED_1) for stage in STAGES),
    column("whole_mib", "one GPU, MiB", GROUPED_1),
    name="memory",
    title="Memory of the stages, and of an iteration on one GPU.",
)
MEMORY_OF_WAYS = _view(
    column("run"),
    column("way_mib", "MiB at once", GROUPED_1),
    column("parameters_mib", "MiB of parameters", GROUPED_1),
    column("compression", "compressed", TIMES),
    title="Memory of an iteration, workspaces included.",
)
MEMORY_OF_NETWORKS = _view(
    column("network"),
    column("images", "batch"),
    column("network_mib", "MiB at once", GROUPED_1),
    column("layers", "MiB of all layers", GROUPED_1),
    column("largest", "largest layer"),
    column("most", "MiB of it", GROUPED_1),
    column("share", "share of all layers", PERCENT),
    column("of_device", "of the publication's GPU", PERCENT),
    title="Memory of an iteration, workspaces apart.",
)
MEMORY_OF_LAYERS = (
    column("layer"),
    column("kind"),
    column("layer_mib", "MiB", GROUPED_1),
    column("layer_share", "share", PERCENT),
)
NETWORK_RUNS = _view(
    column("run"),
    column("iteration_ms", "iteration, ms", GROUPED_2),
    column("error", "half-width", PERCENT),
    column("fraction", "simulated", PERCENT),
    column("seconds", "processor s", GROUPED_0),
    column("model"),
    title="Runs.",
)

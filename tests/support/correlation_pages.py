"""docs/correlation: the results of `gpusim correlate`, and the layers before and after what was fitted."""

import json
from collections.abc import Sequence

import gpusim
from gpusim.config.measured import load_measured
from gpusim.correlation import report
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


def result(name: str, contents: str) -> str:
    """The page of a result kept as JSON. name: its table's, or that with SEARCH behind it."""
    measured, _ = load_measured(name.removesuffix(SEARCH))
    return report.markdown(measured, report.restored(json.loads(contents)))

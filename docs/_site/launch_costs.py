"""What the launches in a store cost to simulate, by kind: `python -m docs._site.launch_costs STORE FILE.json`.

Each class of launches counts once: other runs of the store took it from there.
"""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

from docs._site.pages import table
from gpusim.base.formats import FIXED_0, FIXED_1
from gpusim.base.sums import plain_sum
from gpusim.model.core.sampled import ITERATIONS, WHOLE
from gpusim.results.store.records import unpacked

SUMS = ("classes", "seconds", "instructions", "simulated")
HOW = {"windows": "by whole workgroups", ITERATIONS: "within workgroups", WHOLE: "in whole"}
KINDS = {  # by how kernels' names begin; the first that fits
    "the engine's products": ("sgemm_dib",),
    "products of weights' gradients": ("sgemm_batched_tn", "sgemm_tn", "conv_weights"),
    "other products": ("sgemm", "conv_s1", "conv_s8", "conv_direct"),
    "Winograd's transforms": ("winograd",),
    "circulant, fused": ("circulant_fused",),
    "circulant, others": ("circulant",),
    "im2col and the like": ("",),
}


def costs(store: Path) -> list[dict[str, Any]]:
    """Kind of kernel, how it was simulated, classes of launches, processor seconds, and instructions, in all and
    simulated, of what a store has.
    """
    found: dict[tuple[str, str], dict[str, float]] = {}
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        for kernel, packed in db.execute("SELECT kernel, facts FROM launch_classes"):
            facts = unpacked(packed)
            sampling = facts["sampling"] or {"method": WHOLE}
            method = sampling["method"].split(" + ")[0]
            kind = next(name for name, begins in KINDS.items() if kernel.startswith(begins))
            instructions = facts["sections"]["kernel"]["wavefront_instructions"]
            one = found.setdefault((kind, method), dict.fromkeys(SUMS, 0.0))
            one["classes"] += 1
            one["seconds"] += facts["sections"]["simulator"]["cpu_s"]
            one["instructions"] += instructions
            one["simulated"] += instructions if method == WHOLE else sampling["simulated"]
    return [{"kind": kind, "how": method, **one} for (kind, method), one in sorted(found.items())]


def costs_table(file: Path) -> str:
    """The costs in a file as a table, the dearest first, with a last row of all."""
    rows = sorted(json.loads(file.read_text(encoding="utf-8")), key=lambda row: -float(row["seconds"]))
    total = {key: plain_sum(row[key] for row in rows) for key in SUMS}
    cells = [
        [
            *([row["kind"], HOW[row["how"]]] if "kind" in row else ["**all**", ""]),
            FIXED_0(row["classes"]),
            FIXED_1(row["seconds"] / 60),
            f"{FIXED_1(100 * row['simulated'] / row['instructions'])} %",
        ]
        for row in [*rows, total]
    ]
    return table(["launches", "simulated", "classes", "processor minutes", "instructions simulated"], cells)


if __name__ == "__main__":
    text = json.dumps(costs(Path(sys.argv[1])), indent=1)
    Path(sys.argv[2]).write_text(text + "\n", encoding="utf-8")
    print(costs_table(Path(sys.argv[2])))

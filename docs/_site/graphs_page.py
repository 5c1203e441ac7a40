"""docs/results/graphs.md: sum aggregation over graphs that Debian's package python3-graph-tool has, by five ways.

The variable GPUSIM_GRAPHS names a folder with the unpacked package (`dpkg -x PACKAGE.deb FOLDER`).
"""

import importlib.util
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from docs._site.pages import ROOT, table
from gpusim.base.errors import UserError
from gpusim.base.formats import COUNT, FIXED_1, GENERAL, PERCENT, TIMES
from gpusim.base.sums import plain_sum
from gpusim.cli.main import invoke

VARIABLE = "GPUSIM_GRAPHS"
GRAPHS = ("polblogs", "as-22july06")
SHARES = (0.5, 0.9)
STORE = ROOT / "build" / "graphs.db"  # an interrupted command goes on
EXAMPLES = ROOT / "examples/own-kernels"
HEAD = ("graph", "zeros", "way", "cycles", "over dense", "hits of L2", "MB read from DRAM", "accurate answers")
Result = dict[str, Any]


def aggregation() -> str:
    """What each way takes by graph and share of zeros; every result is compared with NumPy's."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        raise UserError(f"{VARIABLE}: names no folder with Debian's python3-graph-tool unpacked")
    script = importlib.util.spec_from_file_location("graph", EXAMPLES / "graph.py")
    assert script is not None and script.loader is not None
    graph = importlib.util.module_from_spec(script)
    script.loader.exec_module(graph)
    rows = []
    for name in GRAPHS:
        with tempfile.TemporaryDirectory() as scratch:
            graph.main(next(Path(folder).rglob(f"{name}.gt.gz")), Path(scratch), SHARES)
            for share in SHARES:
                ways = list(_ways(Path(scratch), GENERAL(100 * share)))
                dense = ways[0][1]["kernel"]["cycles"]
                rows += [[name, PERCENT(share), way, *_cells(found, dense)] for way, found in ways]
                both = plain_sum(found["kernel"]["cycles"] for _, found in ways[-2:])
                rows[-1] = [name, PERCENT(share), "packed, with the pass", COUNT(both), TIMES(dense / both), "", "", ""]
    return table(HEAD, rows)


def _cells(found: Result, dense: float) -> list[str]:
    cycles, engine = found["kernel"]["cycles"], found.get("engine") or {}
    asked = engine.get("requests", 0)
    accurate = PERCENT(engine["accurate"] / asked) if asked else ""
    read = FIXED_1(found["dram"]["bytes_read"] / 1e6)
    return [COUNT(cycles), TIMES(dense / cycles), PERCENT(found["l2"]["hit_rate"]), read, accurate]


def _ways(folder: Path, share: str) -> Iterator[tuple[str, Result]]:
    nodes = len(np.load(folder / "first.npy")) - 1
    features, bundles, sums = (folder / f"{name}-{share}.npy" for name in ("features", "bundles", "sums"))
    graph = {name: {"npy": str(folder / f"{name}.npy")} for name in ("first", "neighbours")}
    result = {"sums": {"fill": 0, "dtype": "float32", "shape": [nodes, 256], "expected": str(sums)}}
    dense = {"features": {"npy": str(features)}, **graph, **result}
    marked = {**dense, "features": {"npy": str(features), "sparse": "ellpack_dib"}}
    counts = {"npy": str(folder / f"counts-{share}.npy")}
    packed = {"bundles": {"npy": str(bundles)}, "counts": counts, **graph, **result}
    own: Result = {"gpu": "mi6", "code_object": str(EXAMPLES / "aggregation.hsaco"), "global_size": [256 * nodes]}
    conversion: Result = {
        "gpu": "mi6",
        "code_object": str(ROOT / "workloads/kernels/dib_convert.hsaco"),
        "kernel": "dib_convert",
        "global_size": [-(-nodes // 4) * 256],
        "arguments": {
            "b_matrix": {"npy": str(features)},
            "bundles": {"fill": 0, "dtype": "uint32", "shape": [nodes, 256]},
            "counts": {"fill": 0, "dtype": "uint32", "shape": [nodes], "expected": counts["npy"]},
            "n": {"value": nodes, "dtype": "uint32"},
            "k": {"value": 256, "dtype": "uint32"},
            "ldb": {"value": 256, "dtype": "uint32"},
        },
    }
    yield "dense", _run({**own, "kernel": "dense", "arguments": dense})
    yield "engine", _run({**own, "kernel": "compacted", "engine": "default", "arguments": marked})
    yield "stream compactor", _run({**own, "kernel": "compacted", "engine": "compactor", "arguments": marked})
    yield "packed before", _run({**own, "kernel": "packed", "arguments": packed})
    yield "the pass that packs", _run(conversion)


def _run(execution: Result) -> Result:
    with tempfile.TemporaryDirectory() as scratch:
        file, answer = Path(scratch) / "run.yaml", Path(scratch) / "run.json"
        file.write_text(json.dumps(execution))
        assert invoke(["exec", str(file), "--quiet", "--json", str(answer), "--store", str(STORE)]) == 0
        found: Result = json.loads(answer.read_text())
    assert found["verification"]["passed"]
    return found


SECTIONS = {"aggregation": aggregation}

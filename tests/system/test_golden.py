"""Are the metrics of a few small runs what they were? A change of the model shows here, to be read in the diff.

`.ci/generate` (or GPUSIM_UPDATE_GOLDEN=1 with this file alone) writes the new values.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.processors import limit_threads
from gpusim.cli.main import invoke

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "GPUSIM_UPDATE_GOLDEN"
SHAPE = ("workload.batch=4", "workload.layer.input_channels=48", "workload.layer.output_channels=64")
DATA = ("workload.data=synthetic", "workload.sparsity=0.7", "workload.seed=3")

CASES = {
    "dense": ("off", ("kernels.dense=sgemm",)),
    "dense_4x4": ("off", ("kernels.dense=sgemm_4x4",)),
    "dense_tiled16_r9nano": ("off", ("kernels.dense=sgemm_tiled16", "gpu=r9nano")),
    "sparse_tiled": ("on", ()),
    "sparse_tiled_tiny_sib_and_buffer": ("on", ("engine.sib_kib=1", "engine.prefetch_buffer_kib=0.25")),
    "sparse_gather": ("on", ("kernels.sparse=sgemm_dib_gather",)),
    "software": ("on", ("kernels.sparse=software",)),
}


def metrics_of(case: str, tmp_path: Path, *options: str) -> dict[str, Any]:
    """The metrics of a case, as they are kept."""
    engine, sets = CASES[case]
    path = tmp_path / "result.json"
    assignments = [text for value in (*SHAPE, *DATA, *sets) for text in ("--set", value)]
    command = ["run", "layerB.yaml", "--quiet", "--engine", engine, "--json", str(path), *options, *assignments]
    assert invoke(command) == 0
    run = json.loads(path.read_text())
    left_out = ("config", "config_hash", "simulator", "stalls_by_compute_unit", "access_patterns", "launch_groups")
    found = {group: run[group] for group in run if group not in left_out}
    # the bound and the error come from the host's BLAS, whose order of summation depends on the machine
    found["verification"] = {"passed": found["verification"]["passed"]}
    if "launches" in run:
        found["launches"] = [{group: one[group] for group in one if group not in left_out} for one in run["launches"]]
    return found


@pytest.mark.parametrize("case", CASES)
def test_metrics_are_what_they_were(case: str, tmp_path: Path) -> None:
    found = metrics_of(case, tmp_path)
    golden = GOLDEN / f"{case}.json"
    if os.environ.get(UPDATE):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(golden.read_text()), f"{golden.name} differs: read the change, then run .ci/generate"


@pytest.mark.compiled_tier
@pytest.mark.parametrize(("case", "threads"), [("dense_4x4", 2), ("dense_4x4", 5), ("sparse_tiled", 3)])
def test_several_threads_make_the_same_metrics(case: str, threads: int, tmp_path: Path) -> None:
    try:
        found = metrics_of(case, tmp_path, "--threads", str(threads))
    finally:
        limit_threads(None)
    assert found == json.loads((GOLDEN / f"{case}.json").read_text())

"""Is a circulant layer with a GPU for each stage as fast as its kernels and links say?"""

from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.training.model_parallel import split_into_stages
from gpusim.lab.training.spec import TrainPhase, load_training

FOLDER = Path("sim_configs/reproductions/bcm")
LAUNCHES = [("circulant_transform_64", 10.0), ("circulant_fused", 70.0), ("circulant_inverse_64", 20.0)]


def asked(network: str = "bcm-c", **sets: Any) -> TrainPhase:
    laid = {
        "network": str(FOLDER / f"networks/{network}.yaml"),
        "block_circulant.block": 64,
        "topology": {"kind": "ring", "gb_s": 10, "latency_us": 5},
        "compute": {"layers": {"fc": {"forward_ms": 0.04, "backward_ms": 0.06}}},
        "gpus": [3],
    }
    return load_training(str(FOLDER / "training.yaml"), laid | sets)


def test_the_slowest_stage_or_link_decides_where_none_waits() -> None:
    found = split_into_stages(asked(), LAUNCHES)
    # 128 vectors of 16 blocks of 33 frequencies of 8 bytes; weights of 16 × 16 blocks, whose rows lie a block apart
    of_vectors, weights, sums = 128 * 16 * 33 * 8, 16 * 17 * 33 * 8, 16 * 16 * 33 * 8
    there, back = (2 * of_vectors + weights) / 1e4 + 15, (2 * of_vectors + sums) / 1e4 + 15
    assert found.stages_us == (10, 70, 20) and found.one_us == 100
    assert found.links_us == pytest.approx((there, back))
    assert found.waiting_us == pytest.approx(100 + there + back) and found.streaming_us == pytest.approx(there)
    assert found.over_batches == pytest.approx(found.batches_us / 3 / there) and found.batches_us > 100
    assert max(found.stage_bytes) < found.whole_bytes
    busy = split_into_stages(asked(), [("circulant_fused", 700.0)])
    assert busy.stages_us == (0, 700, 0) and busy.streaming_us == 700


def test_other_networks_have_no_such_stages() -> None:
    with pytest.raises(UserError, match="allowed is one layer, of kind block_circulant"):
        split_into_stages(asked("bcm-timit", compute={"total": {"forward_ms": 1.0, "backward_ms": 2.0}}), LAUNCHES)
    with pytest.raises(UserError, match="allowed is one layer, of kind block_circulant"):
        split_into_stages(asked(**{"block_circulant.block": None}), LAUNCHES)

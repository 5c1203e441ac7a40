"""Do the blocks of shipped networks compute what NumPy computes, forward and backward, at a tiny size?"""

from typing import Any

import pytest
import yaml

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config import files
from gpusim.config.network import NETWORK_FOLDER, load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.core.gpu_spec import GpuSpec
from gpusim.networks.run import Wanted, run_iteration

ENDS = [{"name": "fc", "kind": "fully_connected", "outputs": 3}, {"name": "softmax", "kind": "softmax"}]
INCEPTION = {"one": 2, "reduce_three": 3, "three": 4, "reduce_five": 1, "five": 2, "pooled": 1}
CASES: list[tuple[str, list[dict[str, Any]]]] = [
    (
        "resnet50",
        [
            {"name": "a", "block": "changing", "stride": 2, "narrow": 2, "wide": 5},
            {"name": "b", "block": "keeping", "times": 1, "narrow": 2, "wide": 5},
        ],
    ),
    ("googlenet", [{"name": "a", "block": "inception", **INCEPTION}]),
]


@pytest.mark.parametrize(("name", "entries"), CASES, ids=[name for name, _ in CASES])
def test_blocks_of_shipped_networks(name: str, entries: list[dict[str, Any]]) -> None:
    blocks = yaml.safe_load(files.find(name, NETWORK_FOLDER).read_text())["blocks"]
    network = {"input": [3, 6, 5], "blocks": blocks, "layers": [*entries, *ENDS]}
    wanted = Wanted(batch=2, train=True, data="real", timing=False)
    with Interrupt() as interrupt:
        found = run_iteration(
            load_network(network), NetworkSettings(gpu=GpuSpec()), wanted, Reporter(quiet=True), interrupt
        )
    assert {row.passed for row in found.rows} == {True}
    assert len(found.rows) > 20

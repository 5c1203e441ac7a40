"""Do blocks and cells of shipped networks compute what NumPy computes, forward and backward, at a tiny size?"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config import files
from gpusim.config.network import NETWORK_FOLDER, load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.run import NetworkRunRequest, run_iteration
from gpusim.model.core.gpu_spec import GpuSpec

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


Arrays = dict[str, np.ndarray]


def lstm_loss(a: Arrays) -> tuple[np.ndarray, float]:
    """Probabilities and mean loss of a cell and its output layer, by the cell's equations."""
    both = np.concatenate([a["features"], a["hidden_before"]], axis=1)
    products = {g: both @ a[f"{g}_fc.weight"].T + a[f"{g}_fc.bias"] for g in ("forget", "admit", "candidate", "emit")}
    forget, admit, emit = (1 / (1 + np.exp(-products[gate])) for gate in ("forget", "admit", "emit"))
    cell = forget * a["cell_before"] + admit * np.tanh(products["candidate"])
    scores = (emit * np.tanh(cell)) @ a["output_fc.weight"].T + a["output_fc.bias"]
    likely = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return likely, float(-np.log(likely[range(len(likely)), a["labels"]]).mean())


def test_an_lstm_cell_is_that_of_its_equations(tmp_path: Path) -> None:
    nodes, features = 12, 5
    file = tmp_path / "lstm.yaml"
    shipped = files.find("lstm256", NETWORK_FOLDER).read_text()
    file.write_text(shipped.replace("256", str(nodes)).replace("[40]", f"[{features}]"))
    random = np.random.default_rng(1)
    shapes = {"features": (3, features), "hidden_before": (3, nodes), "cell_before": (3, nodes)}
    shapes |= {f"{gate}_fc.weight": (nodes, features + nodes) for gate in ("forget", "admit", "candidate", "emit")}
    shapes |= {f"{gate}_fc.bias": (nodes,) for gate in ("forget", "admit", "candidate", "emit")}
    shapes |= {"output_fc.weight": (61, nodes), "output_fc.bias": (61,)}
    given: Arrays = {name: random.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    given["labels"] = np.array([1, 60, 7])
    wanted, settings = NetworkRunRequest(batch=3, train=True, data="real", timing=False), NetworkSettings(gpu=GpuSpec())
    with Interrupt() as interrupt:
        found = run_iteration(
            load_network(str(file)), settings, wanted, Reporter(quiet=True), interrupt, given, keep_outputs=True
        )
    assert {row.passed for row in found.rows} == {True}
    exact = {name: array.astype(np.float64) if name != "labels" else array for name, array in given.items()}
    likely, loss = lstm_loss(exact)
    np.testing.assert_allclose(found.outputs["softmax.output"], likely, rtol=1e-5)
    assert found.outputs["loss"][0] == pytest.approx(loss, rel=1e-5)
    step = 1e-5
    for gate in ("forget", "admit", "candidate", "emit"):  # by central differences
        for at in ((0, 0), (3, features + 2), (nodes - 1, features + nodes - 1)):
            ends = []
            for side in (step, -step):
                moved = {**exact, f"{gate}_fc.weight": exact[f"{gate}_fc.weight"].copy()}
                moved[f"{gate}_fc.weight"][at] += side
                ends.append(lstm_loss(moved)[1])
            gradient = found.outputs[f"{gate}_fc.weight.gradient"][at]
            assert gradient == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-3, abs=1e-7)


@pytest.mark.parametrize(("name", "entries"), CASES, ids=[name for name, _ in CASES])
def test_blocks_of_shipped_networks(name: str, entries: list[dict[str, Any]]) -> None:
    blocks = yaml.safe_load(files.find(name, NETWORK_FOLDER).read_text())["blocks"]
    network = {"input": [3, 6, 5], "blocks": blocks, "layers": [*entries, *ENDS]}
    wanted = NetworkRunRequest(batch=2, train=True, data="real", timing=False)
    with Interrupt() as interrupt:
        found = run_iteration(
            load_network(network), NetworkSettings(gpu=GpuSpec()), wanted, Reporter(quiet=True), interrupt
        )
    assert {row.passed for row in found.rows} == {True}
    assert len(found.rows) > 20

"""Are weights of FP16 what is read, with FP32 sums, and refused where no kernel reads them?"""

from typing import Any

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.settings import apply_layer_settings
from tests.support.network_runs import GPU, executed, run_job
from workloads.networks.memory import ALIGNMENT, plan
from workloads.networks.schedule import inference, training
from workloads.shapes import round_up

OUTPUTS, VALUES = 70, 264


def described(rows: int, **values: Any) -> dict[str, Any]:
    layer = {"name": "y", "kind": "fully_connected", "outputs": OUTPUTS, "each": True, **values}
    return {"input": {"x": [rows, VALUES]}, "layers": [layer]}


@pytest.mark.parametrize("rows", [1, 5, 33])
def test_a_layer_multiplies_by_rounded_weights_and_adds_up_in_single_precision(rows: int) -> None:
    random = np.random.default_rng(rows)
    x, weight = (random.standard_normal(shape).astype(np.float32) for shape in ((1, rows, VALUES), (OUTPUTS, VALUES)))
    bias = random.standard_normal(OUTPUTS).astype(np.float32)
    weight[0] = 2e-6  # a number that FP16 has as a denormal one
    given = {"x": x, "y.weight": weight, "y.bias": bias}
    found, wrong = executed(load_network(described(rows, weights="float16")), given)
    assert not wrong
    exact = [x.astype(float) @ held.astype(float).T + bias for held in (weight.astype(np.float16), weight)]
    off = [np.abs(found["y"] - one).max() for one in exact]
    assert off[0] < 1e-4 < 1e-3 < off[1], "sums of halves, or weights that are not rounded, are further off"


def test_the_run_s_setting_is_the_layer_s_and_halves_memory_and_traffic() -> None:
    network = load_network(described(1))
    half = apply_layer_settings(network, NetworkSettings(gpu=GPU, weights="float16"))
    assert half.layers == load_network(described(1, weights="float16")).layers
    sizes = [plan(inference(one, 1)).buffer_of["y.weight"].bytes for one in (network, half)]
    assert sizes == [round_up(size * OUTPUTS * VALUES, ALIGNMENT) for size in (4, 2)]
    wide = described(1, outputs=2000)
    single, halved = (run_job(wide, {"weights": weights}, data="synthetic").last for weights in ("float32", "float16"))
    read = [record.steps[0].facts.dram.bytes_read for record in (single, halved) if record.steps[0].facts is not None]
    assert read[1] == pytest.approx(read[0] / 2, rel=0.05)


def test_where_no_kernel_reads_them_they_are_refused() -> None:
    with pytest.raises(UserError, match="layer 'y': its weights are float16: it runs forward alone"):
        training(load_network(described(1, weights="float16")), 1)
    with pytest.raises(UserError, match="float16, 12 values an image; allowed are multiples of 8"):
        executed(load_network({**described(1, weights="float16"), "input": {"x": [1, 12]}}), {})
    with pytest.raises(UserError, match="weights = float16 is not allowed: its kernels read float32 alone"):
        load_network(described(1, kind="block_circulant", each=False, block=16, weights="float16"))
    with pytest.raises(UserError, match=r"'y\.weight' has values beyond 65504, which float16 does not hold"):
        executed(load_network(described(1, weights="float16")), {"y.weight": np.full((OUTPUTS, VALUES), 7e4)})
    relu = load_network({"input": [3], "layers": [{"name": "y", "kind": "relu"}]})
    with pytest.raises(UserError, match=r"weights: float16: .* has no fully connected layer"):
        apply_layer_settings(relu, NetworkSettings(gpu=GPU, weights="float16"))
    shared = described(1, weights="float16")
    shared["layers"].append({**shared["layers"][0], "name": "z", "inputs": "x", "shares": "y", "weights": "float32"})
    with pytest.raises(UserError, match="shares: 'y' has a weight of float16; it needs float32"):
        load_network(shared)

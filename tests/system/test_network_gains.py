"""Are fused networks what they are apart, and does a run say what each layer gains by fusion, and past L1?"""

import io
from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.base.errors import UserError
from gpusim.config.gpu import load_gpu
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.script import NetworkResult
from gpusim.lab.training.iterations import NetworkTraining
from gpusim.results.report import terminal
from tests.support.small_networks import layer

# products of one part and of several, with a bias and without, of groups, before a dropout
LAYERS = [
    layer("conv1", "convolution", filters=8, kernel=3, padding=1),
    layer("relu1", "relu"),
    layer("conv2", "convolution", filters=6, kernel=3, padding=1, groups=2, bias=False),
    layer("relu2", "relu"),
    layer("pool2", "max_pool", kernel=2),
    layer("fc3", "fully_connected", outputs=70),
    layer("relu3", "relu"),
    layer("drop3", "dropout"),
    layer("fc4", "fully_connected", outputs=9),
    layer("relu4", "relu"),
    layer("fc5", "fully_connected", outputs=4),
]
NETWORK = {"input": [4, 12, 10], "layers": LAYERS}
JOINED = {f"{name}.forward": (f"relu{name[-1]}",) for name in ("conv1", "fc3", "fc4")}
JOINED |= {"conv2.forward": ("relu2", "pool2"), "conv2.backward_data": ("relu1",), "fc5.backward_data": ("relu4",)}
DENSE = ("implicit", "im2col", "im2col_chunked", "direct", "winograd_2x2", "winograd_4x4")
Rows = dict[tuple[str, str], Any]


def ran(*sets: str, **options: Any) -> NetworkResult:
    return gpusim.run_network(NETWORK, batch=3, phase="train", sets=sets, quiet=True, **options)


def rows(result: Any) -> Rows:
    return {(row["name"], row["pass"]): row for row in result["rows"]}


def shown(result: NetworkResult) -> str:
    out = io.StringIO()
    terminal.show(dict(result), out)
    return out.getvalue()


@pytest.mark.parametrize("algorithm", DENSE)
def test_training_with_fusion_computes_the_same_bits(algorithm: str) -> None:
    apart, fused = (
        NetworkTraining(
            load_network(NETWORK), NetworkSettings(gpu=load_gpu("mi6"), convolution=algorithm, fusion=fusion), batch=3
        )
        for fusion in (False, True)
    )
    random = np.random.default_rng(1)
    for _ in range(2):
        given = {
            "input": random.normal(size=(3, 4, 12, 10)).astype(np.float32),
            "labels": np.array([0, 3, 1], np.uint32),
        }
        assert fused.step(given, compared=True) == apart.step(given)
    for name in ("conv1.weight", "conv1.bias", "conv2.weight", "fc3.weight", "fc3.bias", "fc5.weight"):
        assert np.array_equal(fused.array(name), apart.array(name)), name
    joined = {step.name: step.joined for step in fused.schedule.steps if step.joined}
    assert joined == JOINED


def test_what_fusion_gains_is_said_by_layer_and_against_its_bound() -> None:
    result = ran(gains="fusion")
    apart, fused = rows(result["without"]), rows(result["with"])
    assert {place for place in apart if place not in fused} == {
        *((f"relu{n}", "forward") for n in (1, 2, 3, 4)),
        *((f"relu{n}", "backward_data") for n in (1, 4)),
        ("pool2", "forward"),
    }
    assert all(row["verification"]["passed"] for row in (*apart.values(), *fused.values()))
    for (name, what), row in fused.items():  # all else is the same launches
        if not row.get("joined"):
            assert row["cycles"] == apart[name, what]["cycles"], (name, what)
    assert apart["conv2", "forward"]["launches"] == 2 and fused["conv2", "forward"]["launches"] == 3  # with pooling
    assert fused["fc3", "forward"]["launches"] == 1  # of few images the product's kernel adds the bias and rectifies
    assert "one part" in fused["fc4", "forward"]["why_apart"]["relu4"] and fused["fc4", "forward"]["launches"] == 3
    text = shown(result)
    before, after = (
        (apart["conv1", "forward"]["time_us"], apart["relu1", "forward"]["time_us"]),
        fused["conv1", "forward"],
    )
    line = next(line for line in text.splitlines() if line.startswith("conv1 + relu1\t"))
    assert line.split("\t")[1:5] == [
        f"{n:,.1f}" for n in (sum(before), before[1], after["time_us"], sum(before) - after["time_us"])
    ]
    assert "fused: conv1 + relu1, conv2 + relu2, fc3 + relu3" in text
    assert "not fused, the tiles of implicit do not consist of its windows: pool2" in text and "relu4" in text
    bound = sum(row["time_us"] for (name, _), row in apart.items() if name.startswith("relu"))
    assert f"of which kernels {bound / result['without']['host']['time_us']:.1%}" in text


def test_layers_whose_loads_go_past_l1_are_those_that_were_named() -> None:
    both = ran(gains="l1_bypass", layers="conv1:pool2")
    through, past = rows(both["without"]), rows(both["with"])
    chosen = {("conv1", "backward_weights"), *(place for place in through if place[0] == "conv2")}
    said = ("layer_l1_bypass.conv1.backward_weights=true", "layer_l1_bypass.conv2=true")
    others = ("gpu.l1.bypass=true", "layer_l1_bypass.conv2=false")
    mixed, whole = (rows(ran(*sets, layers="conv1:pool2")) for sets in (said, others))
    for place in through:
        assert mixed[place]["cycles"] == (past if place in chosen else through)[place]["cycles"], place
        assert whole[place]["cycles"] == (through if place[0] == "conv2" else past)[place]["cycles"], place
    hits = [held["conv2", "forward"]["metrics"]["l1"]["hit_rate"] for held in (through, past, mixed, whole)]
    assert hits[0] == hits[3] > 0 and not hits[1] and not hits[2]
    best = sum(min(through[place]["time_us"], past[place]["time_us"]) for place in through)
    assert f"each the faster way {best:,.1f} us" in shown(both)


@pytest.mark.parametrize(
    ("sets", "options", "said"),
    [
        (["layer_l1_bypass.conv9=true"], {}, "layer_l1_bypass: .*conv9.*conv1"),
        (["layer_l1_bypass.conv1.backward=true", "layer_l1_bypass.conv1.forwards=true"], {}, "conv1: .*forwards"),
        (["layer_l1_bypass.conv1=true", "gpu.l1.write=back"], {}, "layer_l1_bypass.conv1: bypass: .*through"),
        (["gpu.l1.write=back"], {"gains": "l1_bypass"}, "gains: l1_bypass: bypass: .*through"),
        (["fusion=true"], {"gains": "fusion"}, "fusion=true must not be given"),
        (["layer_l1_bypass.conv1=true"], {"gains": "l1_bypass"}, "layer_l1_bypass must not be given"),
        ([], {"gains": "fusion", "engine": "both"}, "engine both does not go with it"),
        ([], {"gains": "l1"}, "gains: .*'l1'.*l1_bypass"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(sets: list[str], options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        ran(*sets, **options)

"""Do dense layers become circulant as the settings of a run say, and are those that cannot named?"""

import pytest

from gpusim.base.errors import UserError
from gpusim.config.network import load_network
from gpusim.config.network_run import BlockCirculantSpec
from gpusim.jobs.networks.settings import make_layers_circulant
from gpusim.jobs.networks.storage import Storage, network_plan
from tests.support.network_runs import run_job
from tests.unit.workloads.test_primitives import GPU
from workloads.networks.kind import IterationSettings
from workloads.networks.schedule import inference


def kinds(name: str, **asked: object) -> dict[str, str]:
    made = make_layers_circulant(load_network(name), BlockCirculantSpec.model_validate(asked))
    return {layer.name: layer.kind_name for layer in made.layers}


def test_nothing_asked_is_the_same_network() -> None:
    network = load_network("lenet")
    assert make_layers_circulant(network, BlockCirculantSpec()) is network


def test_layers_are_chosen_by_kind_or_name() -> None:
    dense = {layer.name: layer.kind_name for layer in load_network("alexnet").layers}
    fully = dict.fromkeys(("fc6", "fc7", "fc8"), "block_circulant")
    assert kinds("alexnet", block=64) == {**dense, **fully}
    convolved = {name: "block_circulant_convolution" for name, kind in dense.items() if kind == "convolution"}
    assert kinds("alexnet", block=64, layers="all") == {**dense, **fully, **convolved}
    assert kinds("alexnet", block=64, layers=["fc7"]) == {**dense, "fc7": "block_circulant"}


def test_a_layer_without_such_a_block_stays_dense_and_is_named() -> None:
    asked = BlockCirculantSpec(block=16, layers="all", flow="o1")
    network = make_layers_circulant(load_network("lenet"), asked)
    assert network["ip2"].kind_name == "fully_connected"
    assert network.remarks == ("ip2 stays dense: block 16 is larger than its matrix of 10 × 500 values: no block is as"
                               " small as it",)  # fmt: skip
    assert network["ip1"].kind.flow == "o1"
    assert dict(network["ip1"].anatomy.parameters)["weight"] == (32, 50, 16)
    again = make_layers_circulant(network, asked)
    assert (again.layers, again.remarks) == (network.layers, network.remarks)


def test_layers_of_a_file_take_the_flow_of_the_run() -> None:
    layers = [{"name": "fc", "kind": "block_circulant", "outputs": 16, "block": 16, "flow": "o2"}]
    network = load_network({"input": [20], "layers": layers})
    assert network["fc"].kind.flow == "o2"
    made = make_layers_circulant(network, BlockCirculantSpec(flow="baseline", lanes="wavefront"))
    assert (made["fc"].kind.flow, made["fc"].kind.lanes) == ("baseline", "wavefront")


def test_fully_connected_layers_get_permuted_diagonals() -> None:
    asked = {"block": 32, "matrix": "permuted_diagonal", "layers": "all"}
    found = kinds("alexnet", **asked)
    assert [name for name, kind in found.items() if kind == "permuted_diagonal"] == ["fc6", "fc7", "fc8"]
    assert not any("circulant" in kind for kind in found.values())
    for more, part in (({"flow": "fused"}, "flow: is of circulant blocks"), ({"block": None}, "without their size")):
        with pytest.raises(ValueError, match=part):
            BlockCirculantSpec.model_validate({**asked, **more})


@pytest.mark.parametrize(
    ("name", "asked", "part"),
    [
        ("alexnet", {"block": 64, "layers": ["fc9"]}, "layers: unknown layer 'fc9'; did you mean 'fc8'"),
        ("alexnet", {"block": 64, "layers": ["relu6"]}, "layer 'relu6': relu has no matrix of such blocks; allowed:"),
        ("lenet", {"block": 64, "layers": ["conv1"]}, "matrix of 20 × 25 values: allowed are 16"),
        ("alexnet-caffe", {"block": 16, "layers": ["conv2"]}, "2 groups of channels"),
        ("alexnet", {"block": 64, "matrix": "permuted_diagonal", "layers": ["conv2"]}, "allowed: fully_connected"),
        ("lenet", {"flow": "fused"}, "flow fused: lenet has no layer that is circulant, or can be"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(name: str, asked: dict, part: str) -> None:
    with pytest.raises(UserError) as caught:
        kinds(name, **asked)
    assert part in str(caught.value) and "\n" not in str(caught.value)


def test_a_workgroup_without_space_in_the_lds_is_refused_by_its_layer() -> None:
    layers = [{"name": "fc", "kind": "block_circulant", "outputs": 1024, "block": 64}]
    schedule = inference(load_network({"input": [1024], "layers": layers}), 1)
    storage = Storage.allocate_addresses(network_plan(schedule))
    said = r"layer 'fc' \(forward\): flow fused with block 64: a workgroup of 528 work-items needs 8448 bytes of LDS; a"
    with pytest.raises(UserError, match=said):
        storage.operators(schedule.steps[0], GPU._replace(lds_bytes=8192), IterationSettings())


EACH = {"kind": "fully_connected", "outputs": 32, "each": True}
KINDS_OF_BLOCKS = [
    {"kind": "permuted_diagonal"},
    *({"kind": "block_circulant", "flow": flow} for flow in ("baseline", "o2_sum", "fused")),
]


@pytest.mark.parametrize("kind", KINDS_OF_BLOCKS, ids=lambda kind: kind.get("flow", kind["kind"]))
def test_blocks_are_multiplied_at_every_position(kind: dict) -> None:
    layers = [{**EACH, "name": name, "block": 16, **kind} for name in ("one", "two")]
    (record,) = run_job({"name": "t", "input": [3, 16], "layers": layers}, train=True, batch=2).records
    assert [part.name for part in record.parts if part.verification is None or not part.verification.passed] == []


def test_layers_with_weights_in_common_stay_dense() -> None:
    layers = [{**EACH, "name": "one"}, {**EACH, "name": "two", "shares": "one"}, {**EACH, "name": "three"}]
    network = load_network({"name": "t", "input": [3, 32], "layers": layers})
    for matrix in ("circulant", "permuted_diagonal"):
        made = make_layers_circulant(network, BlockCirculantSpec.model_validate({"block": 16, "matrix": matrix}))
        assert [layer.kind_name == "fully_connected" for layer in made.layers] == [True, True, False]
        assert made.remarks[-2:] == (
            "one stays dense: 'two' uses its weights",
            "two stays dense: it uses the weights of 'one'",
        )
        for name, why in (("one", "'two' uses its weights"), ("two", "it uses the weights of 'one'")):
            asked = BlockCirculantSpec.model_validate({"block": 16, "matrix": matrix, "layers": [name]})
            with pytest.raises(UserError, match=f"layer '{name}': {why}: a matrix of blocks has weights of its own"):
                make_layers_circulant(network, asked)
    layers[1] |= {"kind": "block_circulant", "block": 16}
    with pytest.raises(UserError, match="shares = one is not allowed: a matrix of blocks has weights of its own"):
        load_network({"name": "t", "input": [3, 32], "layers": layers})

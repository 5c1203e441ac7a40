"""Do the steps of an iteration compute its loss and its gradients, in the memory that the plan gives them?"""

from typing import Any

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.config.network import load_network
from tests.support.network_numbers import RATE, Machine
from workloads.networks.kind import Pass
from workloads.networks.kinds import KINDS
from workloads.networks.memory import plan
from workloads.networks.schedule import Loss, Schedule, Update, inference, training
from workloads.networks.tensor import TensorRole

BATCH, NUDGE = 3, 1e-6


def layer(name: str, kind: str, inputs: list[str] | None = None, **values: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, **({"inputs": inputs} if inputs is not None else {}), **values}


ENDS = [layer("fc", "fully_connected", outputs=4), layer("softmax", "softmax")]
# between them they have every kind, and every way in which gradients meet
NETWORKS: dict[str, list[dict[str, Any]]] = {
    "plain": [
        layer("conv1", "convolution", filters=4, kernel=3, padding=1),
        layer("relu1", "relu"),
        layer("lrn1", "lrn", size=3, alpha=0.3),
        layer("pool1", "max_pool", kernel=3, stride=2, ceil=True),
        layer("conv2", "convolution", filters=6, kernel=[3, 2], stride=[1, 2], padding=[1, 0, 0, 1], groups=2),
        layer("tanh2", "tanh"),
        layer("flatten", "flatten"),
        layer("drop", "dropout", probability=0.25),
        layer("fc1", "fully_connected", outputs=12),
        layer("relu3", "relu"),
        layer("drop3", "dropout", probability=0.5, seed=3),
        *ENDS,
    ],
    "residual": [
        layer("conv1", "convolution", filters=4, kernel=3, padding=2, dilation=2, bias=False),
        layer("bn1", "batch_norm"),
        layer("relu1", "relu"),
        layer("conv2", "convolution", filters=4, kernel=1),
        layer("bn2", "batch_norm", mode="per_activation"),
        layer("add2", "add", ["bn2", "relu1"]),
        layer("relu2", "relu"),
        layer("add3", "add", ["relu2", "relu2", "relu1"]),
        layer("pool", "average_pool", whole=True),
        *ENDS,
    ],
    "branches": [
        layer("a", "convolution", ["input"], filters=2, kernel=3, padding=1),
        layer("b", "convolution", ["input"], filters=3, kernel=1),
        layer("sb", "sigmoid"),
        layer("pb", "average_pool", kernel=3, stride=1, padding=1, counts_padding=True),
        layer("all", "concat", ["a", "pb", "a"]),
        layer("copy", "bypass"),
        layer("p", "average_pool", kernel=3, stride=2, padding=1, ceil=True),
        *ENDS,
    ],
    "gates": [
        layer("fc1", "fully_connected", outputs=5),
        layer("gate", "sigmoid"),
        layer("state", "tanh", ["fc1"]),
        layer("gated", "multiply", ["gate", "state"]),
        layer("square", "multiply", ["gated", "gated"]),
        layer("sum", "add", ["gated", "square"]),
        *ENDS,
    ],
    "circulant": [
        layer("conv1", "block_circulant_convolution", filters=17, kernel=3, stride=[2, 1], padding=1, block=16),
        layer("relu1", "relu"),
        layer("conv2", "block_circulant_convolution", filters=18, kernel=1, block=16, flow="baseline", bias=False),
        layer("tanh2", "tanh"),
        layer("fc1", "block_circulant", outputs=33, block=32, flow="o1"),
        layer("sigmoid1", "sigmoid"),
        layer("fc2", "block_circulant", outputs=20, block=16, flow="baseline"),
        layer("tanh3", "tanh"),
        layer("fc3", "permuted_diagonal", outputs=18, block=16),
        *ENDS,
    ],
    "recurrent": [
        layer("first", "fully_connected", outputs=5),
        layer("tanh1", "tanh"),
        layer("again", "fully_connected", outputs=5),
        layer("tanh2", "tanh"),
        layer("third", "fully_connected", outputs=5, shares="again"),
        layer("sum", "add", ["third", "tanh1"]),
        layer("fourth", "fully_connected", outputs=5, shares="again"),
        layer("fifth", "fully_connected", ["tanh2"], outputs=5, shares="again"),
        layer("sixth", "add", ["fourth", "fifth"]),
        *ENDS,
    ],
    "upwards": [
        layer("up1", "transposed_convolution", filters=4, kernel=[3, 2], stride=[2, 3], padding=[1, 0, 0, 1], groups=2),
        layer("relu1", "relu"),
        layer("up2", "transposed_convolution", filters=3, kernel=2, stride=2, more=1, dilation=[1, 2], bias=False),
        layer("pool", "average_pool", kernel=3),
        *ENDS,
    ],
    "functions": [
        layer("clip", "clip", least=-0.5, most=0.8),
        layer("leaky", "leaky_relu", ["input"], slope=0.2),
        layer("hard", "hard_sigmoid", ["leaky"]),
        layer("swish", "hard_swish"),
        layer("silu", "silu"),
        layer("gelu", "gelu"),
        layer("tanh_gelu", "gelu", approximate="tanh"),
        layer("some", "affine", factor=-0.5, shift=1.5),
        layer("squared", "square"),
        layer("root", "square_root"),
        layer("over", "reciprocal"),
        layer("e", "exponential"),
        layer("erf", "erf"),
        layer("times", "combine", operation="multiply", stored=[2, 1, 5]),
        layer("less", "combine", ["times", "clip"], operation="subtract"),
        *ENDS,
    ],
    "moves": [
        layer("turned", "permute", order=[2, 0, 1]),
        layer("flat", "reshape", shape=[5, 12]),
        layer("fc1", "fully_connected", outputs=6, each=True),
        layer("some", "slice", axis=-1, start=4, end=0, step=-2),
        layer("wide", "pad", before=[1, 0], after=[0, 2], value=0.5),
        layer("mean", "reduce", axes=[1], keep=True),
        layer("whole", "repeat", shape=[6, 4]),
        layer("token", "stored", [], shape=[1, 4]),
        layer("all", "concat", ["token", "whole", "wide"], axis=0),
        layer("sum", "reduce", operation="sum", axes=[0]),
        layer("divided", "combine", ["all", "sum"], operation="divide"),
        *ENDS,
    ],
    "attention": [
        layer("flat", "reshape", shape=[6, 10]),
        layer("place", "combine", operation="add", stored=[6, 10]),
        layer("norm", "layer_norm"),
        layer("q", "fully_connected", outputs=8, each=True),
        layer("q_split", "reshape", shape=[6, 4, 2]),
        layer("q_heads", "permute", order=[1, 0, 2]),
        layer("k", "fully_connected", ["norm"], outputs=4, each=True, bias=False),
        layer("k_split", "reshape", shape=[6, 2, 2]),
        layer("k_heads", "permute", order=[1, 0, 2]),
        layer("q_turned", "rotary", ["q_heads"], first=2),
        layer("q_groups", "reshape", shape=[2, 2, 6, 2]),
        layer("k_groups", "reshape", ["k_heads"], shape=[2, 1, 6, 2]),
        layer("scores", "matmul", ["q_groups", "k_groups"], turned=True),
        layer("mask", "causal_mask"),
        layer("weights", "softmax", axis=-1),
        layer("mixed", "matmul", ["weights", "k_groups"]),
        layer("apart", "reshape", shape=[4, 6, 2]),
        layer("attention", "attention", ["apart", "k_heads", "k_heads"], causal=True),
        layer("again", "attention", ["attention", "q_heads", "apart"], factor=0.3),
        layer("rms", "rms_norm"),
        layer("groups", "group_norm", groups=2),
        *ENDS,
    ],
    "logits": [layer("relu0", "relu"), layer("fc", "fully_connected", outputs=4, bias=False)],
    "two_heads_meet": [
        layer("fc1", "fully_connected", outputs=5),
        layer("soft", "softmax"),
        layer("relu", "relu", ["fc1"]),
        layer("drop", "dropout", ["relu"], probability=0.5),
        layer("sum", "add", ["soft", "fc1", "relu", "drop"]),
        *ENDS,
    ],
}


POOL = layer("p", "max_pool", kernel=3, stride=2)


def network(name: str) -> Any:
    return load_network({"input": [2, 6, 5], "layers": NETWORKS[name]})


def values(schedule: Schedule) -> dict[str, np.ndarray]:
    """Random parameters and inputs, labels of four classes."""
    random = np.random.default_rng(1)
    return {
        name: random.integers(0, 4, tensor.shape) if tensor.dtype == "uint32" else random.normal(size=tensor.shape)
        for name, tensor in schedule.tensors.items()
        if tensor.role in (TensorRole.INPUT, TensorRole.PARAMETER)
    }


def loss_of(schedule: Schedule, given: dict[str, np.ndarray]) -> float:
    return float(Machine(plan(schedule), given).run().array("loss")[0])


def test_between_them_the_networks_have_every_kind() -> None:
    assert {one["kind"] for layers in NETWORKS.values() for one in layers} == set(KINDS) - {"embedding", "append"}


@pytest.mark.parametrize("places", [1, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_finite_differences(name: str, places: int) -> None:
    schedule = training(network(name), BATCH, update=Update.NONE)
    given = values(schedule)
    machine = Machine(plan(schedule), given).run()
    gradients = [t for t in schedule.tensors.values() if t.role is TensorRole.PARAMETER_GRADIENT]
    assert {t.name for t in gradients} == {
        f"{t.name}.gradient" for t in schedule.tensors.values() if t.role is TensorRole.PARAMETER
    }
    random = np.random.default_rng(2)
    for tensor in gradients:
        found = machine.array(tensor.name)
        parameter = tensor.name.removesuffix(".gradient")
        for _ in range(places):
            at = tuple(random.integers(0, n) for n in tensor.shape)
            losses = []
            for step in (NUDGE, -NUDGE):
                nudged = {**given, parameter: given[parameter].copy()}
                nudged[parameter][at] += step
                losses.append(loss_of(schedule, nudged))
            assert found[at] == pytest.approx((losses[0] - losses[1]) / (2 * NUDGE), rel=1e-4, abs=1e-8), tensor.name


@pytest.mark.parametrize("update", [Update.SGD, Update.ADAM])
def test_an_update_goes_down_the_gradient(update: Update) -> None:
    schedule = training(network("residual"), BATCH, update=update)
    given = values(schedule)
    machine = Machine(plan(schedule), given).run()
    for name, before in given.items():
        if schedule.tensors[name].role is TensorRole.PARAMETER:
            moved, gradient = machine.array(name) - before, machine.array(f"{name}.gradient")
            expected = -RATE * (gradient if update is Update.SGD else np.sign(gradient))
            if not name.startswith("conv2.bias"):  # its gradient is rounding alone: batch norm takes the bias away
                assert moved == pytest.approx(expected, rel=1e-3, abs=1e-9), name


def test_a_given_gradient_goes_back_to_the_inputs_of_a_layer_that_is_looked_at_alone() -> None:
    from gpusim.config.network import build_network
    from workloads.networks.dnnmark import read_dnnmark

    text = "[DNNMark]\nrun_mode=standalone\n[Pooling]\nname=p\nn=2\nc=1\nh=4\nw=4\nkernel_size=2\nstride=2\n"
    schedule = training(build_network(read_dnnmark(text, "p.dnnmark")), 2)
    assert [step.name for step in schedule.steps] == ["p.forward", "p.backward_data"]
    x = np.arange(32.0).reshape(2, 1, 4, 4)
    machine = Machine(plan(schedule), {"data": x, "p.output.gradient": np.ones((2, 1, 2, 2))}).run()
    assert np.argwhere(machine.array("data.gradient")[0, 0]).tolist() == [[1, 1], [1, 3], [3, 1], [3, 3]]


def names(schedule: Schedule, what: Pass) -> list[str]:
    return [step.layer for step in schedule.steps if step.what is what]


def test_a_first_layer_has_no_backward_pass_for_data() -> None:
    schedule = training(load_network("alexnet"), 1)
    assert "conv1" not in names(schedule, Pass.BACKWARD_DATA)
    assert "conv1" in names(schedule, Pass.BACKWARD_WEIGHTS)
    assert names(schedule, Pass.BACKWARD_DATA)[:3] == ["fc8", "relu7", "fc7"]


def test_gradients_that_meet_are_added_once() -> None:
    schedule = training(load_network("resnet18"), 1)
    met = names(schedule, Pass.GRADIENT_SUM)
    assert sorted(met) == sorted(["pool1", *(f"relu{b}_{n}" for b in (2, 3, 4, 5) for n in (2, 4) if (b, n) != (5, 4))])
    assert all(len(s.reads) == 2 for s in schedule.steps if s.what is Pass.GRADIENT_SUM)
    assert "pool1.output.gradient.conv2_1" in schedule.tensors, "a part is called after who makes it"
    assert "conv2_1.output.gradient" in schedule.tensors


def test_where_no_gradient_comes_through_nothing_is_trained() -> None:
    layers = [dict(one) for one in NETWORKS["plain"]]
    layers[4]["propagation"] = False
    schedule = training(load_network({"input": [2, 6, 5], "layers": layers}), 1)
    assert "conv1" not in {s.layer for s in schedule.steps if s.what is not Pass.FORWARD}
    assert set(names(schedule, Pass.UPDATE)) == {"conv2", "fc1", "fc"}


def test_inference_is_the_forward_passes_alone_and_dropout_does_nothing() -> None:
    schedule = inference(network("plain"), BATCH)
    assert {step.what for step in schedule.steps} == {Pass.FORWARD}
    assert schedule.get_memory_tensor("drop.output") == "tanh2.output"  # by way of flatten
    assert not [t for t in schedule.tensors.values() if t.role is TensorRole.SAVED]
    step = next(s for s in inference(network("residual"), 1).steps if s.layer == "bn1")
    assert set(step.reads) == {"x", "scale", "bias", "running_mean", "running_variance"}


def test_names_that_tensors_would_have_do_not_collide() -> None:
    layers = [layer("a", "fully_connected", outputs=4), layer("a.output", "relu"), layer("labels", "softmax")]
    given = load_network({"input": {"a.output.gradient": [3]}, "layers": layers})
    schedule = training(given, 2, update=Update.NONE)
    assert np.isfinite(loss_of(schedule, values(schedule)))


@pytest.mark.parametrize("batch", [0, -1, 65537])
def test_a_batch_that_cannot_be_is_refused(batch: int) -> None:
    with pytest.raises(UserError, match=rf"batch: {batch} is not allowed: must be from 1 to 65536"):
        inference(network("plain"), batch)


def test_training_needs_one_output_of_classes_unless_gradients_are_given() -> None:
    two = load_network({"input": [4], "layers": [layer("a", "relu"), layer("b", "relu", ["input"])]})
    with pytest.raises(UserError, match=r"layer 'a' \(4\), 'b' \(4\): training by cross-entropy needs one output"):
        training(two, 1)
    assert training(two, 1, Loss.GIVEN).steps
    maps = load_network({"input": [4, 2, 2], "layers": [layer("a", "relu")]})
    with pytest.raises(UserError, match=r"layer 'a' \(4×2×2\)"):
        training(maps, 1)


def test_joined_layers_leave_all_else_as_it_is() -> None:
    layers = [*NETWORKS["plain"][:4], layer("relu0", "relu"), *NETWORKS["plain"][4:]]
    given = load_network({"input": [2, 6, 5], "layers": layers})
    apart, joined = (training(given, 2, fusion=fusion) for fusion in (False, True))
    gone = {"relu1.forward", "relu3.forward", "relu0.backward_data"}
    kept = [step for step in apart.steps if step.name not in gone]
    assert [step.name for step in joined.steps] == [step.name for step in kept]
    found = {step.name: step.joined for step in joined.steps if step.joined}
    assert found == {"conv1.forward": ("relu1",), "fc1.forward": ("relu3",), "conv2.backward_data": ("relu0",)}
    masked = {"mask": "relu0.output"}  # and the gradient that it gives is that before the ReLU
    for before, after in zip(kept, joined.steps, strict=True):
        reads = dict(before.reads) | (masked if after.name == "conv2.backward_data" else {})
        if after.name == "pool1.backward_data":
            reads["dy"] = "relu0.output.gradient"
        assert (after.reads, after.writes) == (reads, before.writes), after.name
    assert set(apart.tensors) - set(joined.tensors) == {"pool1.output.gradient"}
    for of, relu in (("conv1", "relu1"), ("fc1", "relu3")):
        assert joined.get_memory_tensor(f"{relu}.output") == f"{of}.output"
    said = {f"{name}.{what}": why for (name, what), why in joined.apart.items()}
    assert set(said) == {"relu0.forward", "relu1.backward_data", "relu3.backward_data"}
    for name, kind in (
        ("relu0.forward", "max_pool"),
        ("relu1.backward_data", "lrn"),
        ("relu3.backward_data", "dropout"),
    ):
        assert kind in said[name]


@pytest.mark.parametrize(
    ("layers", "apart", "why"),
    [
        ([layer("r", "relu"), *ENDS], "r", "the network's input"),
        ([ENDS[0], layer("r", "relu"), layer("s", "add", ["fc", "r"])], "r", "what fc gives"),
        ([layer("c", "convolution", filters=2, kernel=1), layer("r", "relu"), POOL], "p", "its windows"),
    ],
)  # fmt: skip
def test_layers_that_are_not_joined_are_named(layers: list[dict[str, Any]], apart: str, why: str) -> None:
    found = inference(load_network({"input": [2, 6, 5], "layers": layers}), 1, fusion=True)
    assert set(found.apart) == {(apart, Pass.FORWARD)} and why in found.apart[apart, Pass.FORWARD]
    assert any(step.layer == apart and step.what is Pass.FORWARD for step in found.steps)


def test_a_gradient_of_several_layers_ends_with_no_mask() -> None:
    layers = [layer("r", "relu"), layer("a", "convolution", ["r"], filters=2, kernel=1)]
    layers += [layer("b", "convolution", ["r"], filters=2, kernel=1), layer("s", "add", ["a", "b"]), *ENDS]
    first = layer("c", "convolution", filters=2, kernel=1)
    found = training(load_network({"input": [2, 6, 5], "layers": [first, *layers]}), 1, fusion=True)
    assert found.apart == {("r", Pass.BACKWARD_DATA): "its gradient comes from several layers"}
    assert not any(step.joined for step in found.steps if step.what is Pass.BACKWARD_DATA)

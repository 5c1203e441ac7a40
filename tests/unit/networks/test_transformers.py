"""Do transformers compute what NumPy computes, go on from keys and values that are kept, and learn?"""

from typing import Any

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.config.gpu import load_gpu
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings, TrainingSpec
from gpusim.lab.training.iterations import NetworkTraining
from tests.support.network_numbers import Machine
from tests.support.network_runs import executed, run_job
from tests.unit.workloads.test_network_schedule import NETWORKS
from tests.unit.workloads.test_network_schedule import values as values_of
from workloads.networks.graph import Network
from workloads.networks.memory import plan
from workloads.networks.schedule import Update, inference, training
from workloads.networks.tensor import TensorRole
from workloads.operators.attention import ATTENTION_ALGORITHMS

WIDTH, HEADS, PAIRS, TOKENS = 24, 4, 2, 7
SIZE = WIDTH // HEADS


def layer(name: str, kind: str, inputs: list[str] | None = None, **values: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, **({"inputs": inputs} if inputs is not None else {}), **values}


def block(before: str, name: str, tokens: int, past: int = 0, joined: str = "concat") -> list[dict[str, Any]]:
    """A block in the form of Llama; past: tokens whose keys and values are inputs, joined by a layer of this kind. Its
    last layer is NAME.out.
    """

    def n(part: str) -> str:
        return f"{name}.{part}"

    def heads(part: str, count: int) -> list[dict[str, Any]]:
        made = layer(n(part), "fully_connected", [n("norm")], outputs=count * SIZE, each=True, bias=False)
        split = layer(n(f"{part}.split"), "reshape", shape=[tokens, count, SIZE])
        return [made, split, layer(n(f"{part}.heads"), "permute", order=[1, 0, 2])]

    made = [layer(n("norm"), "rms_norm", [before]), *heads("q", HEADS), *heads("k", PAIRS), *heads("v", PAIRS)]
    made += [layer(n("q.turned"), "rotary", [n("q.heads")], first=past)]
    made += [layer(n("k.turned"), "rotary", [n("k.heads")], first=past)]
    k, v = n("k.turned"), n("v.heads")
    if past:
        made += [
            layer(n("keys"), joined, [n("past.k"), k], axis=1),
            layer(n("values"), joined, [n("past.v"), v], axis=1),
        ]
        k, v = n("keys"), n("values")
    return [
        *made,
        layer(n("mixed"), "attention", [n("q.turned"), k, v], causal=True),
        layer(n("beside"), "permute", order=[1, 0, 2]),
        layer(n("merged"), "reshape", shape=[tokens, WIDTH]),
        layer(n("projection"), "fully_connected", outputs=WIDTH, each=True, bias=False),
        layer(n("sum"), "add", [n("projection"), before]),
        layer(n("norm2"), "rms_norm"),
        layer(n("gate"), "fully_connected", outputs=2 * WIDTH, each=True, bias=False),
        layer(n("silu"), "silu"),
        layer(n("up"), "fully_connected", [n("norm2")], outputs=2 * WIDTH, each=True, bias=False),
        layer(n("gated"), "multiply", [n("silu"), n("up")]),
        layer(n("down"), "fully_connected", outputs=WIDTH, each=True, bias=False),
        layer(n("out"), "add", [n("down"), n("sum")]),
    ]


def language_model(words: int) -> Network:
    layers = [layer("table", "embedding", ["words"], rows=words, width=WIDTH), *block("table", "a", TOKENS)]
    layers += [layer("norm", "layer_norm"), layer("logits", "fully_connected", outputs=words, each=True, bias=False)]
    return load_network({"input": {"words": [TOKENS]}, "layers": layers})


def parameters(network: Network) -> dict[str, np.ndarray]:
    random, found = np.random.default_rng(3), {}
    for one in network.layers:
        for role, shape in one.anatomy.parameters.items():
            found[f"{one.name}.{role}"] = random.normal(0.0, 0.2, shape).astype(np.float32) + (role == "scale")
    return found


@pytest.mark.parametrize("joined", ["concat", "append"])
def test_a_token_after_kept_keys_and_values_gets_what_it_gets_among_all(joined: str) -> None:
    whole = load_network({"input": {"x": [TOKENS, WIDTH]}, "layers": [
        *block("x", "a", TOKENS), layer("k", "bypass", ["a.k.turned"]), layer("v", "bypass", ["a.v.heads"])
    ]})  # fmt: skip
    past = TOKENS - 1
    kept = past if joined == "concat" else TOKENS  # append has a place for what it adds
    last = load_network({
        "input": {"x": [1, WIDTH], "a.past.k": [PAIRS, kept, SIZE], "a.past.v": [PAIRS, kept, SIZE]},
        "layers": block("x", "a", 1, past, joined),
    })  # fmt: skip
    x = np.random.default_rng(1).standard_normal((2, TOKENS, WIDTH), np.float32)
    given = parameters(whole)
    prefilled, wrong = executed(whole, {**given, "x": x}, batch=2)
    assert not wrong
    before = {f"a.past.{one}": prefilled[one][:, :, :kept].copy() for one in ("k", "v")}
    for one in before.values():
        one[:, :, past:] = 1e9  # nobody may read it
    decoded, wrong = executed(last, {**given, **before, "x": x[:, past:]}, batch=2)
    assert not wrong
    np.testing.assert_allclose(decoded["a.out"][:, 0], prefilled["a.out"][:, past], rtol=1e-5, atol=1e-5)
    assert np.abs(prefilled["a.out"][:, past] - x[:, past]).max() > 0.1


def test_what_is_appended_is_all_that_is_written_and_read() -> None:
    described = {
        "input": {"kept": [3, 40, 16], "new": [3, 2, 16]},
        "layers": [layer("y", "append", ["kept", "new"], axis=1, at=7)],
    }
    kept = load_network(described)
    random = np.random.default_rng(5)
    given = {name: random.standard_normal((2, *shape), np.float32) for name, shape in kept.inputs.items()}
    planned = plan(inference(kept, 2))
    assert planned.buffer_of["y.output"] is planned.buffer_of["kept"]
    found, wrong = executed(kept, given, batch=2)
    (written,) = found.values()
    wanted = given["kept"].copy()
    wanted[:, :, 7:9] = given["new"]
    np.testing.assert_array_equal(written, wanted)
    assert not wrong
    (step,) = run_job(described).last.steps
    moved = sum(work.read_bytes + work.written_bytes for work in step.work)
    assert step.facts is not None and moved == 2 * 4 * 3 * 2 * 16
    assert step.facts.dram.bytes_read + step.facts.dram.bytes_written <= 4 * moved  # of 15 kB that are kept


def test_what_an_append_writes_into_is_its_alone_and_not_trained() -> None:
    def network(*layers: dict[str, Any]) -> Network:
        return load_network({"input": {"kept": [3, 4], "new": [1, 4]}, "layers": list(layers)})

    add = layer("y", "append", ["kept", "new"])
    with pytest.raises(UserError, match="'y': writes into 'kept': must be an input of the network that no other layer"):
        network(add, layer("z", "relu", ["kept"]))
    with pytest.raises(UserError, match="'y': writes into 'z': must be an input of the network that no other layer"):
        network(layer("z", "relu", ["kept"]), layer("y", "append", ["z", "new"]))
    with pytest.raises(UserError, match="'y': it writes into the network's input: it runs forward alone"):
        training(network(add), 1)


def attending(queries: int, keys: int) -> Network:
    return load_network({
        "input": {"q": [4, queries, 16], "k": [2, keys, 16], "v": [2, keys, 16]},
        "layers": [layer("y", "attention", ["q", "k", "v"], causal=True)],
    })  # fmt: skip


def test_every_algorithm_of_attention_decodes_what_it_prefilled() -> None:
    random = np.random.default_rng(4)
    given = {
        name: random.standard_normal((2, heads, 21, 16), np.float32) for name, heads in (("q", 4), ("k", 2), ("v", 2))
    }
    found = {}
    for name in ATTENTION_ALGORITHMS:
        whole, wrong = executed(attending(21, 21), given, batch=2, attention=name)
        last, also_wrong = executed(attending(1, 21), {**given, "q": given["q"][:, :, 20:]}, batch=2, attention=name)
        assert not wrong and not also_wrong
        np.testing.assert_allclose(last["y"][:, :, 0], whole["y"][:, :, 20], rtol=1e-5, atol=1e-6)
        found[name] = whole["y"]
    for one in found.values():
        np.testing.assert_allclose(one, found["composed"], rtol=1e-4, atol=1e-5)


def test_the_fastest_attention_is_the_one_that_takes_the_fewest_cycles() -> None:
    network = {
        "input": {"q": [4, 1, 16], "k": [2, 70, 16], "v": [2, 70, 16]},
        "layers": [layer("y", "attention", ["q", "k", "v"])],
    }
    ran = run_job(network, {"attention": "auto"})
    ((place, choice),) = ran.choices.items()
    assert place == ("y", "forward") and ran.passed
    alone = {name: run_job(network, {"attention": name}).last.steps[0].facts for name in ATTENTION_ALGORITHMS}
    cycles = {name: facts.cycles for name, facts in alone.items() if facts is not None}
    assert choice.kernel == min(cycles, key=lambda name: cycles[name]) != "composed"
    assert set(choice.cycles) <= set(cycles) and len(choice.cycles) > 1


def test_no_token_sees_those_after_it() -> None:
    network = language_model(11)
    words = np.random.default_rng(1).integers(0, 11, (1, TOKENS))
    other = words.copy()
    other[0, -1] = (other[0, -1] + 1) % 11
    given = parameters(network)
    (one, _), (two, _) = (executed(network, {**given, "words": each}) for each in (words, other))
    np.testing.assert_array_equal(one["logits"][0, :-1], two["logits"][0, :-1])
    assert (one["logits"][0, -1] != two["logits"][0, -1]).any()


def test_a_language_model_learns_its_sentences() -> None:
    network = language_model(11)
    settings = NetworkSettings(gpu=load_gpu("mi6"), training=TrainingSpec(rate=0.3, momentum=0.5))
    taught = NetworkTraining(network, settings, batch=2, given=parameters(network))
    words = np.random.default_rng(2).integers(0, 11, (2, TOKENS + 1))
    batch = {"words": words[:, :-1], "labels": words[:, 1:]}
    losses = [taught.step(batch, compared=number == 0) for number in range(4)]
    assert losses[0] > 1.8 and losses[-1] < losses[0] * 0.7, losses


@pytest.mark.parametrize("name", ["functions", "moves", "attention", "upwards", "recurrent"])
def test_an_iteration_of_every_kind_is_what_numpy_computes_of_the_schedule(name: str) -> None:
    """What steps become on the GPU against arithmetic that shares nothing with it, gradients included."""
    settings = NetworkSettings(gpu=load_gpu("mi6"), training=TrainingSpec(update="none"))
    given = load_network({"input": [2, 6, 5], "layers": NETWORKS[name]})
    schedule = training(given, 3, update=Update.NONE)
    values = {key: array.astype(np.float32) for key, array in values_of(schedule).items()}
    values["labels"] = values["labels"].astype(np.uint32)
    machine = Machine(plan(schedule), values).run()
    held = {key: array for key, array in values.items() if schedule.tensors[key].role is TensorRole.PARAMETER}
    taught = NetworkTraining(given, settings, batch=3, given=held)
    loss = taught.step({key: array for key, array in values.items() if key not in held})
    assert loss == pytest.approx(float(machine.array("loss")[0]), rel=1e-4)
    for tensor in schedule.tensors.values():
        if tensor.role is TensorRole.PARAMETER_GRADIENT:
            wanted = machine.array(tensor.name)
            off = np.abs(taught.array(tensor.name) - wanted).max()
            assert off <= 2e-4 * np.abs(wanted).max() + 1e-6, tensor.name


def test_every_position_has_a_label() -> None:
    schedule = training(language_model(11), 3)
    assert schedule.tensors["labels"].shape == schedule.tensors["losses"].shape == (3, TOKENS)
    assert {t.dtype for t in schedule.tensors.values() if t.role is TensorRole.INPUT} == {"uint32"}


def test_words_that_no_table_has_are_refused() -> None:
    with pytest.raises(UserError, match="'words' has values from 0 to 11; allowed are 0 to 10"):
        executed(language_model(11), {"words": np.array([[0, 1, 2, 3, 4, 5, 11]])})
    layers = [layer("table", "embedding", ["words"], rows=3, width=2), layer("relu", "relu", ["words"])]
    with pytest.raises(UserError, match="layer 'relu': reads 'words', which holds whole numbers since layer 'table'"):
        load_network({"input": {"words": [4]}, "layers": layers})
    layers = [layer("relu", "relu", ["words"]), layer("table", "embedding", ["relu"], rows=3, width=2)]
    with pytest.raises(UserError, match="layer 'table': reads 'relu': must be an input of the network"):
        load_network({"input": {"words": [4]}, "layers": layers})

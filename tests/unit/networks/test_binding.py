"""Has every step of every network primitives for the roles that the schedule gives it, over memory of their own?"""

import pytest

from gpusim.base.errors import UserError
from gpusim.config.files import shipped
from gpusim.config.gpu import load_gpu
from gpusim.config.network import NETWORK_FOLDER, load_network
from gpusim.jobs.networks.run import selected_layers
from gpusim.jobs.networks.storage import Storage, network_plan
from isa.device_memory import DeviceMemoryError
from tests.support.daily import parametrize_daily
from tests.support.small_networks import POINTWISE, SHORT, layer, network
from tests.unit.workloads.test_network_schedule import NETWORKS
from workloads.networks.binding import bind_primitives, explain_separate_launches
from workloads.networks.graph import Network
from workloads.networks.kind import IterationSettings, LayerKind, Pass
from workloads.networks.kinds import KINDS
from workloads.networks.schedule import Loss, Schedule, Update, inference, training
from workloads.operators.conv_algorithms import DENSE_ALGORITHMS
from workloads.operators.conv_winograd import WinogradForward
from workloads.operators.operator import GpuFacts

GPU = load_gpu("mi6")
FACTS = GpuFacts(36, 65536)


def schedules(of: Network) -> list[Schedule]:
    loss = Loss.CROSS_ENTROPY if len(of.outputs) == 1 else Loss.GIVEN
    return [inference(of, 3), *(training(of, 3, loss, update) for update in Update)]


def built(schedule: Schedule) -> Storage:
    storage = Storage.allocate(network_plan(schedule), GPU)
    for step in schedule.steps:
        storage.operators(step, FACTS, IterationSettings(2))  # `place` checks shapes, types and overlaps
    return storage


@pytest.mark.parametrize("layers", [POINTWISE, SHORT, *NETWORKS.values()])
def test_every_step_becomes_operators_over_the_plan_s_tensors(layers: list) -> None:
    for schedule in schedules(network(layers)):
        built(schedule)


# others have each of their kinds of layers and operators, fused and not
LONG = {f"resnet{name}.yaml" for name in ("18", "18-cifar", "34", "50", "101", "152")}
LONG |= {"vgg13.yaml", "vgg16.yaml", "vgg19.yaml", "llama-7b-block.yaml"}


@parametrize_daily(
    "file", shipped(NETWORK_FOLDER), [n for n, name in enumerate(shipped(NETWORK_FOLDER)) if name not in LONG]
)
def test_shipped_networks_have_an_operator_for_every_step(file: str) -> None:
    for fusion in (False, True):
        given = load_network(file)
        built((inference if given.forward_alone else training)(given, 2, fusion=fusion))


def test_joined_layers_become_operators_with_every_algorithm_and_the_engine() -> None:
    layers = [
        layer("c", "convolution", filters=64, kernel=3, padding=1),
        layer("r", "relu"),
        layer("d", "convolution", filters=6, kernel=3, padding=1),
        layer("s", "relu"),
        layer("p", "max_pool", kernel=2),
        layer("f", "fully_connected", outputs=40),
        layer("t", "relu"),
        layer("g", "fully_connected", outputs=4),
    ]
    schedule = training(network(layers), 3, fusion=True)
    named = {step.name: step for step in schedule.steps}
    assert named["d.forward"].joined == ("s", "p") and named["g.backward_data"].joined == ("t",)
    for algorithm, sparse in (*((name, None) for name in DENSE_ALGORITHMS), ("implicit", "ellpack_dib_registers")):
        iteration = IterationSettings(convolution=algorithm, sparse_convolution=sparse)
        storage = Storage.allocate(network_plan(schedule, iteration), GPU)
        for step in schedule.steps:
            storage.operators(step, FACTS, iteration)
        apart = explain_separate_launches(schedule, named["d.forward"], iteration)
        assert set(apart) == ({"s", "p"} if sparse else set() if algorithm.startswith("winograd") else {"p"})
        masked = explain_separate_launches(schedule, named["d.backward_data"], iteration)
        assert set(masked) == ({"r"} if algorithm in ("implicit", "direct") else set()), algorithm
    assert all("ellpack_dib_registers" in why for why in apart.values())


def test_every_kind_names_the_primitives_of_its_passes() -> None:
    without = {
        name
        for name, kind in KINDS.items()
        if kind.operator is LayerKind.operator and kind.primitives is LayerKind.primitives
    }
    assert without == {"reshape", "flatten"}, "these compute nothing: their output is the input"


def test_a_kind_that_names_no_primitives_is_refused_by_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = inference(network([layer("t", "tanh")]), 1)
    monkeypatch.setattr(KINDS["tanh"], "operator", LayerKind.operator)
    with pytest.raises(UserError, match=r"layer 't' \(tanh, forward\): there is no operator for it"):
        bind_primitives(schedule, schedule.steps[0])


def test_an_algorithm_is_taken_where_it_computes_a_layer_and_its_workspace_is_planned() -> None:
    small, large = (layer(name, "convolution", filters=6, kernel=k, padding=1) for name, k in (("c", 3), ("d", 5)))
    schedule = training(network([small, large]), 3, Loss.GIVEN)
    iteration = IterationSettings(convolution="winograd_4x4", convolution_buffer_bytes=1)
    planned = network_plan(schedule, iteration)
    named, held = {}, {}
    for step in schedule.steps:
        for part in bind_primitives(schedule, step, iteration):
            named[step.name] = part.primitive.name
            held[step.name] = sum(operand.size_bytes for operand in part.primitive.workspace.values())
    for what in ("forward", "backward data", "backward weights"):
        if (name := f"c.{what.replace(' ', '_')}") in named:
            assert named[name] == f"convolution {what} (winograd_4x4)"
            assert planned.buffer_of[f"{name}.workspace"].bytes >= held[name] > 0
        assert named[f"d.{what.replace(' ', '_')}"] == f"convolution {what} (implicit)"
    (part,) = bind_primitives(schedule, schedule.steps[0], iteration)
    assert isinstance(part.primitive, WinogradForward) and part.primitive.buffer_bytes == 1


def test_a_result_that_nothing_needs_is_stored_into_workspace() -> None:
    schedule = training(network(SHORT), 2)
    step = next(s for s in schedule.steps if s.name == "bn1.backward")
    assert "dx" not in step.writes, "the first layer's input has no gradient"
    (part,) = bind_primitives(schedule, step)
    assert set(part.primitive.gives) - set(part.tensors) == {"dx"}
    storage = built(schedule)
    (operator,) = storage.operators(step, FACTS, IterationSettings())
    held = storage.plan.buffer_of["bn1.backward.workspace"]
    at = operator.tensors["dx"].address - storage.whole.address
    assert held.offset <= at and at + operator.tensors["dx"].size_bytes <= held.offset + held.bytes


def test_a_gpu_may_have_more_memory_than_the_host() -> None:
    large = GPU.model_copy(update={"memory_mib": 1 << 26})
    planned = network_plan(inference(network(SHORT), 1))
    assert Storage.allocate(planned, large).whole == Storage.allocate(planned, GPU).whole
    with pytest.raises(DeviceMemoryError):
        Storage.allocate(planned, GPU.model_copy(update={"memory_mib": 0}))


def test_a_stream_of_random_numbers_is_a_layer_s_and_an_iteration_s() -> None:
    layers = [layer("a", "dropout"), layer("b", "dropout"), layer("pool", "average_pool", whole=True)]
    schedule = training(network([layer("bn", "batch_norm"), *layers]), 2)
    steps = [s for s in schedule.steps if s.what is Pass.FORWARD and s.layer in "ab"]
    streams = [bind_primitives(schedule, s, IterationSettings(n))[0].primitive.stream for n in (1, 2, 3) for s in steps]  # type: ignore[attr-defined]
    assert len(set(streams)) == len(streams) == 6


def test_the_number_of_the_iteration_is_adam_s() -> None:
    schedule = training(network(SHORT), 2, update=Update.ADAM)
    step = next(s for s in schedule.steps if s.what is Pass.UPDATE)
    assert bind_primitives(schedule, step, IterationSettings(5))[0].primitive.step == 5  # type: ignore[attr-defined]


def test_padding_differs_from_side_to_side() -> None:
    schedule = inference(network([layer("p", "max_pool", kernel=3, padding=[0, 1, 1, 2])]), 1)
    (part,) = bind_primitives(schedule, schedule.steps[0])
    assert part.primitive.pooling.sides == (0, 1, 1, 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "names"),
    [("conv1:conv2", {"conv1", "pool1", "conv2"}), ("ip2:", {"ip2", "softmax"}), (":pool1", {"conv1", "pool1"}),
     ("relu1", {"relu1"}), (None, None)],
)  # fmt: skip
def test_layers_are_chosen_by_the_first_and_the_last(text: str | None, names: set[str] | None) -> None:
    assert selected_layers(load_network("lenet"), text) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [("conv9", "unknown layer 'conv9'; did you mean 'conv1'"), ("conv2:conv1", "'conv2' comes after 'conv1'")],
)
def test_layers_that_are_not_there_are_refused(text: str, said: str) -> None:
    with pytest.raises(UserError, match="layers: ") as caught:
        selected_layers(load_network("lenet"), text)
    assert said.split(";")[0].removeprefix("unknown ") in str(caught.value)

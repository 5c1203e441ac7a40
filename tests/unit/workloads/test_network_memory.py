"""Does the memory plan keep every tensor until it was read for the last time, whatever the network?"""

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from gpusim.config.network import load_network
from tests.support.daily import given_daily
from workloads.networks import memory
from workloads.networks.graph import Network
from workloads.networks.memory import ALIGNMENT, MemoryPlan, im2col_per_image, no_workspace, plan
from workloads.networks.schedule import Schedule, Update, inference, training
from workloads.networks.tensor import TensorRole

# kind, values, whether it may have several inputs; none of them changes a shape of 4 maps of 6 × 6
SHAPELESS = (
    ("relu", {}, False),
    ("dropout", {}, False),
    ("tanh", {}, False),
    ("lrn", {}, False),
    ("batch_norm", {}, False),
    ("max_pool", {"kernel": 3, "stride": 1, "padding": 1}, False),
    ("convolution", {"filters": 4, "kernel": 3, "padding": 1}, False),
    ("bypass", {}, False),
    ("add", {}, True),
)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Layers that read any of those before, at random, and a last one that reads all that nothing reads."""
    layers: list[dict] = []
    names = ["input"]
    for number in range(draw(st.integers(1, 9))):
        kind, values, several = draw(st.sampled_from(SHAPELESS))
        before = st.sampled_from(names)
        read = draw(st.lists(before, min_size=2, max_size=3)) if several else [draw(before)]
        layers.append({"name": f"l{number}", "kind": kind, "inputs": read, **values})
        names.append(f"l{number}")
    unread = [name for name in names if not any(name in layer["inputs"] for layer in layers)]
    layers.append({"name": "all", "kind": "concat", "inputs": unread})
    layers += [{"name": "flat", "kind": "flatten"}, {"name": "fc", "kind": "fully_connected", "outputs": 3}]
    return load_network({"input": [4, 6, 6], "layers": layers})


def schedules() -> st.SearchStrategy[Schedule]:
    """Inference and every way of training."""
    updates = st.sampled_from(Update)
    return st.builds(
        lambda network, batch, update: training(network, batch, update=update) if update else inference(network, batch),
        networks(), st.integers(1, 3), st.none() | updates,
    )  # fmt: skip


def replayed(planned: MemoryPlan) -> None:
    """Write and read the memory as the steps do, 256 bytes at a time: what is read is what was written as it."""
    schedule = planned.schedule
    held: dict[int, str] = {}

    def places(name: str) -> range:
        buffer = planned.buffer_of[name]
        size = schedule.tensors[name].bytes if name in schedule.tensors else buffer.bytes
        assert size <= buffer.bytes
        return range(buffer.offset // ALIGNMENT, -(-(buffer.offset + size) // ALIGNMENT))

    def write(name: str) -> None:
        held.update(dict.fromkeys(places(name), schedule.get_memory_tensor(name)))

    for name, tensor in schedule.tensors.items():
        if tensor.role in (TensorRole.PARAMETER, TensorRole.STATE, TensorRole.INPUT) and name in planned.buffer_of:
            write(name)
    for step in schedule.steps:
        if f"{step.name}.workspace" in planned.buffer_of:
            write(f"{step.name}.workspace")
        for name in step.reads.values():
            assert {held[at] for at in places(name)} == {schedule.get_memory_tensor(name)}, (step.name, name)
        for name in step.writes.values():
            write(name)
        for name in step.writes.values():  # one result did not take another one's place
            assert {held[at] for at in places(name)} == {schedule.get_memory_tensor(name)}, (step.name, name)
    kept = {TensorRole.PARAMETER, TensorRole.STATE, TensorRole.LOSS} | (
        {TensorRole.PARAMETER_GRADIENT} if _no_update(schedule) else set()
    )
    results = [name for name, t in schedule.tensors.items() if t.role in kept and name in planned.buffer_of]
    if not schedule.training:
        results += [schedule.outputs[layer.name] for layer in schedule.network.outputs]
    for name in results:
        assert {held[at] for at in places(name)} == {schedule.get_memory_tensor(name)}, f"{name} is a result"


def _no_update(schedule: Schedule) -> bool:
    return not any(step.parameter for step in schedule.steps)


@given_daily(25, 150, schedules(), st.sampled_from([im2col_per_image, no_workspace, lambda schedule, step: 1000]))
def test_nothing_is_overwritten_before_it_was_read(schedule: Schedule, workspace: memory.Workspace) -> None:
    planned = plan(schedule, workspace)
    replayed(planned)
    buffers = planned.buffers
    for number, one in enumerate(buffers):
        for other in buffers[number + 1 :]:
            apart = one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
            assert apart or one.last < other.first or other.last < one.first
    assert all(one.offset % ALIGNMENT == 0 for one in buffers)
    assert planned.bytes >= max(planned.live_bytes)


@pytest.mark.parametrize("name", ["vgg11", "resnet10", "cifarnet"])
def test_shipped_networks_take_hardly_more_than_what_lives_at_once(name: str) -> None:
    for schedule in (training(load_network(name), 8), inference(load_network(name), 8)):
        planned = plan(schedule)
        replayed(planned)
        assert max(planned.live_bytes) <= planned.bytes <= 1.1 * max(planned.live_bytes)


def test_a_replay_sees_a_plan_that_is_wrong() -> None:
    planned = plan(training(load_network("lenet"), 2))
    wrong = [replace(b, offset=0) if "pool1.output" in b.tensors else b for b in planned.buffers]
    with pytest.raises(AssertionError, match="pool1"):
        replayed(replace(planned, buffers=tuple(wrong)))


def test_relu_and_dropout_are_in_place_as_in_caffe() -> None:
    planned = plan(training(load_network("alexnet-caffe"), 2))
    assert planned.buffer_of["fc6.output"] is planned.buffer_of["drop6.output"] is planned.buffer_of["relu6.output"]
    assert planned.buffer_of["fc6.output.gradient"] is planned.buffer_of["drop6.output.gradient"]
    assert planned.buffer_of["fc6.output"].layer == "fc6"


def test_what_is_read_later_is_not_overwritten_in_place() -> None:
    layers = [
        {"name": "bn", "kind": "batch_norm"},
        {"name": "relu", "kind": "relu"},
        {"name": "sum", "kind": "add", "inputs": ["relu", "bn"]},
    ]
    planned = plan(inference(load_network({"input": [4, 6, 6], "layers": layers}), 1))
    assert planned.buffer_of["relu.output"] is not planned.buffer_of["bn.output"]
    first = plan(inference(load_network({"input": [4, 6, 6], "layers": layers[1:2]}), 1))
    assert first.buffer_of["relu.output"] is not first.buffer_of["input"], "an input stays as it was given"


def test_an_output_that_is_another_tensor_s_view_lives_to_the_end() -> None:
    layers = [
        {"name": "tanh", "kind": "tanh"},
        {"name": "flat", "kind": "flatten"},
        {"name": "relu", "kind": "relu", "inputs": "tanh"},
        {"name": "more", "kind": "sigmoid"},
    ]
    planned = plan(inference(load_network({"input": [4, 6, 6], "layers": layers}), 1))
    replayed(planned)
    assert planned.buffer_of["flat.output"].last == len(planned.schedule.steps) - 1


def test_workspace_is_im2col_of_one_image_for_one_step() -> None:
    planned = plan(training(load_network("alexnet"), 4))
    buffer = planned.buffer_of["conv2.forward.workspace"]
    assert buffer.bytes == -(-4 * 2400 * 729 // ALIGNMENT) * ALIGNMENT
    assert buffer.first == buffer.last
    assert "fc6.forward.workspace" not in planned.buffer_of
    projected = plan(inference(load_network("resnet18"), 1)).buffer_of
    assert "proj3.forward.workspace" in projected, "a stride needs im2col even for 1 × 1"

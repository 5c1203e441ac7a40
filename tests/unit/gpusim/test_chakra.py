"""Is a network's execution trace what its rows say, in the delimited messages that Chakra's readers take?"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.chakra import COMP_NODE, compute_trace, message_classes
from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.jobs.networks.traces import network_trace
from gpusim.results.metrics import SCHEMA_VERSION


def messages(data: bytes) -> list[Any]:
    """The nodes of a file, behind its metadata."""
    kinds, found, at = message_classes(), list[Any](), 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at, size, shift = at + 1, size | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        made = kinds["Node" if found else "GlobalMetadata"]()
        made.ParseFromString(data[at : at + size])
        found.append(made)
        at += size
    assert found[0].version
    return found[1:]


@settings(max_examples=50, deadline=None)
@given(times=st.lists(st.floats(0.01, 5000), max_size=40))
def test_steps_follow_one_another_and_add_up(times: list[float]) -> None:
    nodes = messages(compute_trace([(f"layer {number}", time_us) for number, time_us in enumerate(times)]))
    assert [node.id for node in nodes] == list(range(len(times)))
    end_us = 0
    for number, node in enumerate(nodes):
        assert (node.name, node.type) == (f"layer {number}", COMP_NODE)
        assert list(node.data_deps) == ([number - 1] if number else [])
        assert node.start_time_micros == end_us and node.duration_micros >= 1
        end_us += node.duration_micros
        assert {one.name: one.bool_val for one in node.attr}["is_cpu_op"] is False
    if min(times, default=1.0) >= 1:
        assert abs(end_us - sum(times)) < 1, "the rounding of steps does not add up"


def result(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    run = {"kernel": {"name": "k", "cycles": 1}, "rows": list(rows), "engine": None}
    head = {"schema_version": SCHEMA_VERSION, "kind": "net", "partial": False, "config": {"gpu": {"name": "MI6"}}}
    return {**head, **run, **more}


def test_a_networks_trace_has_a_step_for_each_row() -> None:
    rows = [{"name": "conv1", "pass": "forward", "time_us": 3.2}, {"name": "conv1", "pass": "update", "time_us": 1.2}]
    nodes = messages(network_trace(result(*rows), Path("t.et")))
    assert [(node.name, node.duration_micros) for node in nodes] == [("conv1 forward", 3), ("conv1 update", 1)]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (result({"name": "conv1", "pass": "forward", "time_us": None}), "'conv1 forward' was not timed"),
        (result(partial=True, stopped_by="interrupted"), "not be of the whole network: interrupted"),
    ],
)
def test_a_part_of_a_network_has_no_trace(document: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError) as refused:
        network_trace(document, Path("t.et"))
    assert words in str(refused.value) and str(refused.value).startswith("--chakra t.et: ")


def test_several_runs_have_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["net", "--dnnmark", "--chakra", "t.et"]) == 2
    assert "--chakra t.et: is of one run of a network; --dnnmark makes several" in capsys.readouterr().err

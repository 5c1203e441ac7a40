"""Does `gpusim train-phase` find times, say what bounds a training, write traces, and is bad input one line?"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs._site.published_stages import ARRAY, DISK, both, claims, stage_times
from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.config.network import load_network
from gpusim.lab.training.spec import load_training
from gpusim.lab.training.times import gpu_times
from gpusim.results.store.reading import StoreReader
from tests.support.trace_reader import read_trace

NETWORK = {
    "input": [6],
    "layers": [
        {"name": "fc1", "kind": "fully_connected", "outputs": 5},
        {"name": "relu", "kind": "relu"},
        {"name": "fc2", "kind": "fully_connected", "outputs": 3, "bias": False},
        {"name": "softmax", "kind": "softmax"},
    ],
}
GIVEN = {
    "network": "alexnet",
    "batch": 128,
    "gpu": "mi6",
    "storage": "ssd",
    "compute": {"total": {"forward_ms": 70, "backward_ms": 130}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small network, a training of it, and a store with a run of it."""
    made = tmp_path_factory.mktemp("training")
    (made / "small.yaml").write_text(yaml.safe_dump(NETWORK), encoding="utf-8")
    training = {"network": "small.yaml", "batch": 4, "gpu": "mi6", "storage": "nvme"}
    (made / "training.yaml").write_text(yaml.safe_dump(training), encoding="utf-8")
    asked = ["net", str(made / "small.yaml"), "--batch", "4", "--phase", "train", "--jobs", "1"]
    assert invoke([*asked, "--store", str(made / "s.db"), "--quiet"]) == 0
    return made


def result(capsys: pytest.CaptureFixture, *arguments: str | Path) -> dict[str, Any]:
    capsys.readouterr()
    assert invoke(["train-phase", *map(str, arguments), "--json", "-"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_an_iteration_s_times_are_those_of_the_stored_run(folder: Path, capsys: pytest.CaptureFixture) -> None:
    found = result(capsys, folder / "training.yaml", "--store", folder / "s.db")
    with StoreReader(folder / "s.db") as store:
        host_us = store.query("SELECT value FROM run_metrics WHERE name = 'host.time_us'").rows[0][0]
    assert sum(found["compute_ms"].values()) == pytest.approx(host_us / 1e3)  # with each launch's own time
    assert all(time > 0 for time in found["compute_ms"].values())
    assert found["times_from"].startswith("run 1 of ")
    assert set(found["busy"]) == {"storage", "CPU threads", "links", "GPU"}
    assert found["iteration_ms"] == pytest.approx(found["closed_form_ms"], rel=0.01)
    best = max(found["twice_as_much"], key=lambda one: one["gain"])
    assert best["resource"] == found["bound_by"]


def test_stages_that_take_turns_are_bound_by_their_buffers(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    training = tmp_path / "given.yaml"
    training.write_text(yaml.safe_dump(GIVEN), encoding="utf-8")
    sets = ["--set", "queues={read: 1, preprocessed: 2, copied: 2}", "--set", "preprocess.ms_per_image=1.5"]
    found = result(capsys, training, *sets)
    read_ms, prepare_ms = 0.1 + 128 * 187.5 / 540, 128 * 1.5
    assert found["iteration_ms"] == pytest.approx(read_ms + prepare_ms, rel=0.01)
    assert found["bound_by"] == "buffers"
    assert result(capsys, training, *sets[2:])["bound_by"] == "GPU"


def test_several_gpus_leave_a_timeline_and_execution_traces(folder: Path, capsys: pytest.CaptureFixture) -> None:
    traces = ["--timeline", folder / "t.pftrace.gz", "--chakra", folder / "et"]
    sets = ["--set", "bucket_mib=0.00005", "--set", "compute.strong=proportional"]
    found = result(capsys, folder / "training.yaml", "--store", folder / "s.db", "--gpus", "2,1", *sets, *traces)
    rows = [(row["kind"], row["gpus"], row["batch"]) for row in found["scaling"]]
    assert rows == [("weak", 1, 4), ("weak", 2, 4), ("strong", 1, 4), ("strong", 2, 2)]
    assert 0 < found["exposed_ms"] <= found["all_reduce_ms"]

    drawn = read_trace(folder / "t.pftrace.gz")
    tracks = {one.track for one in drawn.slices}
    stages = ("prefetch", "preprocess", "copy", "compute", "update")
    assert {("stages", stage) for stage in stages} <= tracks
    assert {("resources", name) for name in ("storage", "CPU threads", "links", "GPU", "all-reduce")} <= tracks
    assert {one.name for one in drawn.slices if one.track == ("resources", "all-reduce")} == {"fc2", "fc1"}

    nodes = list(messages((folder / "et" / "training.1.et").read_bytes()))[1:]  # the first is the metadata
    names = [node[2][0].decode() for node in nodes]
    passes = [name for name in names if not name.startswith("all-reduce")]
    assert passes[0] == "fc1 forward" and passes[-1].endswith("update") and "softmax loss" in passes
    sums = [node for node in nodes if node[3] == [7]]  # COMM_COLL_NODE
    sizes = [dict(attribute(one) for one in node[10])["comm_size"] for node in sums]
    assert sizes == [4 * 3 * 5, 4 * (5 * 6 + 5)]
    assert all(node[7][0] >= 1 for node in nodes if node[3] == [4])  # duration_micros of COMP_NODE
    made = names[: names.index("all-reduce fc1")]  # what makes the layer's gradients comes before their sum
    assert {"fc1 backward_weights", "fc1 backward_bias"} <= set(made)
    first_update = next(node for node in nodes if node[2][0].endswith(b"update"))
    assert {number for field in first_update[5] for number in varints(field)} >= {node.get(1, [0])[0] for node in sums}


def messages(content: bytes) -> Iterator[dict[int, list[Any]]]:
    """Yield protobuf's delimited messages of a file, read by hand: field → values as they are on the wire."""
    at = 0
    while at < len(content):
        size, at = varint(content, at)
        yield fields(content[at : at + size])
        at += size


def fields(content: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(content):
        tag, at = varint(content, at)
        size, at = varint(content, at)
        value: Any = size
        if tag & 7 == 2:
            value, at = content[at : at + size], at + size
        else:
            assert tag & 7 == 0
        found.setdefault(tag >> 3, []).append(value)
    return found


def varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (content[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if content[at - 1] < 128:
            return value, at


def varints(content: bytes) -> list[int]:
    found, at = [], 0
    while at < len(content):
        value, at = varint(content, at)
        found.append(value)
    return found


def attribute(content: bytes) -> tuple[str, Any]:
    held = fields(content)
    return held.pop(1)[0].decode(), next(iter(held.values()), [0])[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--gpus", "0"], "--set gpus=[0]: 0: 0 is not allowed: must be at least 1"),
        (["--gpus", "two"], "--gpus two: 'two' is not allowed: numbers from 1 to 64"),
        (["--storage", "hd"], "storage: hd: no such configuration file; did you mean 'hdd'?"),
        (["--batch", "2000"], "MI6 has 4096 MiB (gpu.memory_mib): a batch of 7"),
        (["--batch", "0"], "--set batch=0: 0 is not allowed: must be at least 1"),
        (["--set", "queues.copied=64"], "MiB of memory with batch 128"),
        (["--set", "compute.total.forward_ms=0"], "0 is not allowed: must be more than 0"),
        (["--set", "preprocess.ms_per_image=-1"], "-1 is not allowed: must be more than 0"),
        (["--set", "compute.total={forward_ms: 1}"], "compute.total.backward_ms: is required but missing"),
        (["--set", "compute={layers: {conv9: {backward_ms: 1}}}"], "unknown layer 'conv9'"),
        (["--set", "compute={layers: {conv1: {backward_ms: 1}}}"], "no backward_ms of conv2, conv3"),
        (["--set", "compute.run=1"], "run and total: the times come from one of run, layers and total"),
        (["--set", "network=alexnett"], "did you mean 'alexnet'?"),
        (["--set", "topology={kind: edges}"], "kind edges needs its list `edges`"),
        (["--set", "topology=star"], "topology: star: no such configuration file"),
        (["--set", "storge.disks=2"], "did you mean 'storage'?"),
        (["--chakra", "/nowhere/else"], "--chakra /nowhere/else: folder /nowhere does not exist"),
    ],
)
def test_bad_input_is_one_line(more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    training = tmp_path / "given.yaml"
    training.write_text(yaml.safe_dump(GIVEN), encoding="utf-8")
    assert invoke(["train-phase", str(training), *more, "--store", str(tmp_path / "no.db")]) == 2
    errors = capsys.readouterr().err
    assert said in errors and len(errors.splitlines()) == 1, errors


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([("gpu0", "gpu1"), ("gpu2", "gpu3")], "topology: not connected: no way from gpu0 to gpu2, gpu3"),
        ([("gpu0", "gpu1"), ("gpu1", "gpu2")], "topology: there is no node 'gpu3' (there are: gpu0, gpu1, gpu2)"),
        ([("gpu0", "gpu0")], "topology.edges.0: gpu0 to gpu0: a link has two nodes"),
        ([("gpu0", "gpu1"), ("gpu1", "gpu0")], "topology.edges.1: gpu1 to gpu0: this link is there already"),
        ([("gpu0", "s"), ("gpu1", "s"), ("gpu2", "s"), ("gpu3", "s"), ("host", "t")], "no way from host to gpu0, gpu1"),
    ],
)
def test_a_topology_is_checked(
    edges: list[tuple[str, str]], said: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    held = [{"between": list(ends), "gb_s": 10, "latency_us": 1} for ends in edges]
    training = tmp_path / "given.yaml"
    given = {**GIVEN, "gpus": [4], "topology": {"kind": "edges", "edges": held}}
    training.write_text(yaml.safe_dump(given), encoding="utf-8")
    assert invoke(["train-phase", str(training)]) == 2
    errors = capsys.readouterr().err
    assert said in errors and len(errors.splitlines()) == 1, errors


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            ["--batch", "8"],
            "no stored training of small with batch 8 on MI6 (stored: batch 4 on MI6); make one: gpusim net",
        ),
        (["--set", "gpu=r9nano"], "--batch 4 --phase train --gpu r9nano --store"),
        (["--set", "network=lenet"], "no stored training of lenet with batch 4 on MI6 (stored: none of this network)"),
        (["--set", "compute.run=9"], "there is no run '9' in it"),
        (["--set", "compute.run=1", "--batch", "2"], "run 1: has batch 4 on MI6;"),
        (["--set", "compute.run=1", "--set", "network=lenet"], "run 1 is of another network than"),
    ],
)
def test_times_that_are_not_stored_are_one_line_with_the_command(
    more: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    assert invoke(["train-phase", str(folder / "training.yaml"), "--store", str(folder / "s.db"), *more]) == 2
    errors = capsys.readouterr().err
    assert said in errors and len(errors.splitlines()) == 1, errors


def test_given_times_are_their_batchs_or_in_proportion_to_it(tmp_path: Path) -> None:
    training = tmp_path / "given.yaml"
    training.write_text(yaml.safe_dump(GIVEN), encoding="utf-8")
    network, totals = load_network("alexnet"), []
    for batch in (128, 32):
        times = gpu_times(load_training(training, ["compute.strong=proportional"]), network, batch, tmp_path / "s.db")
        totals.append([times.ms(name) for name in ("forward", "backward", "update")])
    assert totals[0][:2] == pytest.approx([70, 130])
    assert totals[1] == pytest.approx([70 / 4, 130 / 4, totals[0][2]])  # an update is of the weights alone
    with pytest.raises(UserError, match="gives times for batch 128 alone; for batch 32: compute"):
        gpu_times(load_training(training), network, 32, tmp_path / "s.db")


def test_a_missing_batch_of_strong_scaling_is_said_beside_the_others(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    found = result(capsys, folder / "training.yaml", "--store", folder / "s.db", "--gpus", "1,4")
    missing = {(row["kind"], row["gpus"]): row["missing"] for row in found["scaling"]}
    assert [key for key, text in missing.items() if text] == [("strong", 4)]
    assert "small.yaml --batch 1 --phase train" in missing["strong", 4]


def test_what_the_source_says_of_its_stages() -> None:
    """The disk's rates and the link's are data sheets'; 48 MB, 158 MB and 223 ms are the source's."""
    found = both("alexnet-2018-given")
    rows = {row[0]: row[1:] for row in stage_times(found).rows}
    images = 256
    disk_ms = images * 187.5e3 / 129e3 + 12.7  # kB/s; one access
    assert rows["HDD"][0] == pytest.approx(disk_ms)
    assert rows["RAID 0 of 4 HDD"][0] == pytest.approx((disk_ms - 12.7) / 4 + 12.7)
    copied = images * 3 * 227 * 227 * 4
    assert rows["HDD"][2] == pytest.approx((10 + copied * (280 / 256) / 15.754e3) / 1e3)
    judged = {one.text: one for one in claims(found)}
    assert [one.text.split()[0] for one in judged.values() if not one.holds] == ["reading"]  # 4 disks, not 5.4 times
    assert (found[ARRAY].bound, found[DISK].bound) == ("GPU", "storage")


def test_files_of_storage_may_be_built_on_others(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("base: hdd\nname: twelve\ndisks: 12\n", encoding="utf-8")
    spec = load_training("alexnet", {"storage": str(own), "storage.access_ms": 1.0}).spec.storage
    assert (spec.name, spec.disks, spec.read_mb_s, spec.access_ms) == ("twelve", 12, 129, 1.0)
    assert spec.read_us(12 * 129 * 1e3, 24) == pytest.approx(2 * 1e3 + 1e3)

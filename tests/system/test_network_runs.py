"""Are a network's layers run as they should be: values in order, equal launches once, the same in several processes?"""

import contextlib
import json
import mmap
import multiprocessing
import os
import re
import signal
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import gpusim
from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.cli.main import invoke
from gpusim.config.gpu import load_gpu
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks import steps as steps_module
from gpusim.jobs.networks.contents import fill_arrays
from gpusim.jobs.networks.job import describe_network_run, fill
from gpusim.jobs.networks.kept import LaunchCache
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.jobs.networks.placement import LaunchPlacement, place_arrays
from gpusim.jobs.networks.run import NetworkRecord, NetworkRunRequest, run_iteration
from gpusim.jobs.networks.steps import run_synthetic
from gpusim.jobs.networks.storage import Storage, network_plan
from gpusim.jobs.running.job import launches
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.facts import combined
from gpusim.results import metrics
from gpusim.results.metrics import describe
from gpusim.results.metrics.metric import collect_formula_inputs
from gpusim.results.records.record import RunRecord
from gpusim.results.report.document import as_json, document
from gpusim.results.report.words import LEGEND
from gpusim.results.store.file import StoreError
from gpusim.results.store.keeper import RunClock, StoreWriter
from gpusim.results.store.outcome import build_outcome
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.records import stored_run
from gpusim.results.store.work import RunDescription
from isa.device_memory import DeviceMemory
from tests.support.daily import parametrize_daily
from tests.support.network_numbers import Machine
from tests.support.network_runs import piped, run_job, shown
from tests.support.small_networks import ENDS, INPUT, POINTWISE, SHORT, layer, network
from tests.support.utilization import compute_efficiency
from tests.unit.workloads.test_network_schedule import NETWORKS
from workloads.networks.kind import IterationSettings
from workloads.networks.memory import plan
from workloads.networks.schedule import inference, training
from workloads.networks.tensor import TensorRole
from workloads.operators.activation import ActivationForward
from workloads.operators.primitive import ReferenceValue, place
from workloads.operators.tensor import Operand, Tensor

GPU = load_gpu("mi6")
BATCH = 3


def record_of(described: list[dict[str, Any]], **values: Any) -> NetworkRecord:
    options = {"batch": BATCH, "train": True, **{k: v for k, v in values.items() if k not in ("inputs", "outputs")}}
    with Interrupt() as interrupt:
        return run_iteration(
            network(described), NetworkSettings(gpu=GPU), NetworkRunRequest(**options), Reporter(quiet=True), interrupt,
            values.get("inputs"), values.get("outputs", False),
        )  # fmt: skip


NAMED = {"network": "small", "phase": "train", "batch": BATCH, "remarks": []}
SMALL = {"input": INPUT, "layers": SHORT}


@pytest.fixture(scope="module")
def one_process() -> NetworkRecord:
    return record_of(POINTWISE, outputs=True)


def as_run(found: NetworkRecord) -> RunRecord:
    """What a run says of an iteration."""
    record = RunRecord(False, "small", [])
    fill(record, found)
    record.stopped_by = found.stopped_by
    return record


def tree_of(found: NetworkRecord) -> dict[str, Any]:
    """The JSON object of an iteration."""
    return document(found.settings.resolved(), [as_run(found)], about={"kind": "net", **NAMED})


def test_every_result_of_a_simulated_step_is_compared(one_process: NetworkRecord) -> None:
    assert one_process.passed is True
    assert all(step.verification is not None and step.facts is not None for step in one_process.steps)


def test_several_processes_find_the_same() -> None:
    alone, forked = (record_of(SHORT, outputs=True, jobs=jobs) for jobs in (1, 3))
    assert [s.facts.cycles for s in forked.steps if s.facts] == [s.facts.cycles for s in alone.steps if s.facts]
    assert [s.verification for s in forked.steps] == [s.verification for s in alone.steps]
    assert forked.outputs.keys() == alone.outputs.keys()
    assert all(np.array_equal(forked.outputs[name], array) for name, array in alone.outputs.items())


def without_dropout(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Whose random numbers are not the reference's."""
    return [{**one, "probability": 0.0} if one["kind"] == "dropout" else one for one in layers]


@pytest.mark.parametrize("name", ["pointwise", *NETWORKS])
def test_loss_and_gradients_are_those_of_numpy_in_fp64(name: str) -> None:
    layers = without_dropout(POINTWISE if name == "pointwise" else NETWORKS[name])
    schedule = training(network(layers), BATCH)
    rng = np.random.default_rng(5)
    inputs = {"labels": np.array([0, 3, 2])}
    for tensor in schedule.tensors.values():
        if tensor.role in (TensorRole.INPUT, TensorRole.PARAMETER) and tensor.name != "labels":
            inputs[tensor.name] = rng.normal(size=tensor.shape).astype(np.float32)
        elif tensor.name.endswith("variance"):
            inputs[tensor.name] = np.ones(tensor.shape)
    found = record_of(layers, timing=False, inputs=inputs, outputs=True)
    assert found.passed is True
    machine = Machine(plan(schedule), inputs)
    expected = {}
    for step in schedule.steps:
        machine.step(step)
        expected |= {name: machine.array(name).copy() for name in step.writes.values()}
    for name, array in found.outputs.items():
        if schedule.tensors[name].role is not TensorRole.PARAMETER:
            np.testing.assert_allclose(array, expected[name], rtol=1e-3, atol=1e-4, err_msg=name)


def test_equal_launches_are_simulated_once() -> None:
    record = record_of(SHORT)
    first, second = (next(s for s in record.steps if s.name == f"bn{n}.forward") for n in (1, 2))
    assert len(first.simulated) == len(first.classes) == len(second.classes)
    assert not second.simulated and second.facts == first.facts
    assert second.verification is not None, "its values are not the first one's"
    places = [s for s in record.steps if s.name in ("pool.backward_data",)]
    assert places[0].simulated, "the places of maxima decide its time"


def own_bytes(array: np.ndarray) -> int:
    """Of an array, what lies in pages that the process has to itself."""
    with open("/proc/self/pagemap", "rb", buffering=0) as table:
        table.seek(array.ctypes.data // mmap.PAGESIZE * 8)
        entries = np.frombuffer(table.read(array.nbytes // mmap.PAGESIZE * 8), np.uint64)
    return int(np.count_nonzero(entries >> np.uint64(62))) * mmap.PAGESIZE


CONVOLUTION = [layer("c", "convolution", filters=8, kernel=3, padding=1)]


def alone(described: dict[str, Any], batch: int, number: int = 0) -> tuple[Any, ...]:
    """An operator of a network's first step, and one of its launches in a memory of its own, filled."""
    schedule = inference(load_network(described), batch)
    storage = Storage.allocate(network_plan(schedule), GPU)
    (operator,) = storage.operators(schedule.steps[0], gpu_facts(GPU), IterationSettings())
    launch = operator.launches[number]
    placement = place_arrays([(operator, launch)])
    return operator, launch, placement, placement.allocate(GPU.architecture, 0)


def array_in(memory: DeviceMemory, placement: LaunchPlacement, tensor: Tensor) -> np.ndarray:
    place = placement.find(tensor.address)
    return Tensor(memory, place.move(tensor.address), tensor.shape, tensor.dtype).array


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not take pages back as zeros")
def test_what_made_up_results_take_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    operator, *rest, memory = alone({"input": [64, 128, 128], "layers": [layer("t", "tanh")]}, 8)
    asked: list[Any] = []
    size = operator.work.stored_bytes

    def held(limit: int) -> int:
        monkeypatch.setattr(steps_module, "MOST_RESIDENT_BYTES", limit)
        result[...] = 1
        observe = steps_module._discarding(operator, *rest, memory, lambda progress: bool(asked.append(progress)))
        observe(Any)
        return own_bytes(memory.image)

    result = array_in(memory, rest[1], operator.tensors["y"])
    assert held(1 << 40) >= size
    assert held(size) <= 4 << 20 and len(asked) == 2  # the huge pages at its ends have others' bytes too
    assert not result.any()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not take pages back")
def test_what_is_given_back_holds_what_it_held_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_module, "MOST_RESIDENT_BYTES", 0)
    shape = (4, 64, 128, 128)
    memory = DeviceMemory(1 << 26)
    x = Tensor.allocate(memory, Operand(shape), "x")
    operator = place(ActivationForward("relu", shape), {"x": x, "y": x}, gpu_facts(GPU))
    (launch,) = operator.launches
    placement = place_arrays([(operator, launch)])
    own = placement.allocate(GPU.architecture, 0)
    fill_arrays(operator, launch, placement, own)
    array = array_in(own, placement, x)
    before = array.copy()
    array[:2] = 0  # results that it has written in place
    steps_module._discarding(operator, launch, placement, own, lambda _: True)(Any)
    assert np.array_equal(array[2:], before[2:]) and before.any(), "what it has not read yet is as it was"


def test_what_decides_the_time_is_not_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_module, "MOST_RESIDENT_BYTES", 0)
    operator, launch, placement, memory = alone({"input": [32, 512, 512], "layers": CONVOLUTION}, 1, number=1)
    arrays = {name: array_in(memory, placement, operator.tensors[name]) for name in ("taps", "y")}
    for array in arrays.values():
        array[...] = 1
    steps_module._discarding(operator, launch, placement, memory, lambda _: True)(Any)
    assert arrays["taps"].all() and not arrays["y"][0, 1:-1].any()


def test_an_algorithm_by_images_simulates_one_of_them() -> None:
    layers = [layer("c", "convolution", filters=4, kernel=3, padding=1), layer("d", "convolution", filters=4, kernel=1)]
    described = load_network({"input": [16, 8, 8], "layers": layers})  # an image begins with a line
    settings = NetworkSettings(gpu=GPU, convolution="im2col")
    with Interrupt() as interrupt:
        record = run_iteration(described, settings, NetworkRunRequest(batch=4), Reporter(quiet=True), interrupt)
    assert record.passed is True
    first, second = record.steps
    assert len(first.classes) > 4 > len(first.simulated) > 0
    assert first.facts is not None
    assert first.operators == ("convolution forward (im2col)",)
    assert second.verification is not None


def test_made_up_values_need_no_step_before(monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[Any] = []
    monkeypatch.setattr(steps_module, "execute", lambda *a, **k: executed.append(a))
    record = record_of(POINTWISE, data="synthetic", layers="pool1:tanh")
    assert {s.step.layer for s in record.steps} == {"pool1", "tanh"}
    assert all(s.facts is not None and s.verification is None for s in record.steps)
    assert not executed and not record.real and record.passed is None


def test_a_launch_finds_the_tables_that_others_make_for_it() -> None:
    schedule = inference(load_network({"input": [8, 24, 24], "layers": CONVOLUTION}), 2)

    def cycles(simulated: set[int]) -> int:
        storage = Storage.allocate(network_plan(schedule), GPU)
        operators = storage.operators(schedule.steps[0], gpu_facts(GPU), IterationSettings())
        return run_synthetic(operators[0], GPU, simulated, lambda _: True).facts[1].cycles

    assert cycles({1}) == cycles({0, 1})


@parametrize_daily("layers, whole", [("bn1:pool1", False), ("bn1:softmax", True)], [0])
def test_made_up_values_cost_about_what_real_ones_do(one_process: NetworkRecord, layers: str, whole: bool) -> None:
    made_up = record_of(POINTWISE, data="synthetic", layers=layers)
    asked = {step.step.layer for step in made_up.steps}
    real = [step for step in one_process.steps if step.step.layer in asked]
    assert len(real) >= 8 and (len(real) == len(one_process.steps)) == whole
    for one, other in zip(real, made_up.steps, strict=True):
        assert one.facts is not None and other.facts is not None
        assert other.facts.cycles == pytest.approx(one.facts.cycles, rel=0.05), one.name


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_wrong_result_is_named(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    real = ActivationForward.reference

    def reference(self: ActivationForward, inputs: Any, first: int = 0) -> Any:
        value = real(self, inputs, first)["y"].value.copy()
        value[0, 0, 0, 0] += 1.0
        return {"y": ReferenceValue(value, 1e-3)}

    monkeypatch.setattr(ActivationForward, "reference", reference)
    record = record_of(SHORT, jobs=jobs)
    assert record.passed is False
    wrong = [row.layer for row in record.rows if row.passed is False]
    assert wrong == ["relu1", "relu2"]


def interrupt_after_the_first(kept: Path) -> threading.Thread:
    """Send Ctrl-C to this process once something is known of a launch."""

    def watch() -> None:
        for _ in range(600):
            with contextlib.suppress(StoreError), StoreReader(kept) as results:
                if len(results.table("launch_classes")):
                    break
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    norms = [layer(f"r{n}", "lrn", size=3 + 2 * (n % 4), k=1.0 + n) for n in range(40)]
    longer = load_network({"input": [64, 128, 128], "layers": norms})
    with Interrupt() as interrupt:
        watcher = interrupt_after_the_first(tmp_path / "kept.db")
        wanted = NetworkRunRequest(batch=2, data="synthetic", jobs=2, store=tmp_path / "kept.db")
        record = run_iteration(longer, NetworkSettings(gpu=GPU), wanted, Reporter(quiet=True), interrupt)
        watcher.join()
    assert record.stopped_by == "interrupted"
    known = [step for step in record.steps if step.facts is not None]
    assert 0 < len(known) < len(record.steps)
    tree = tree_of(record)
    assert tree["partial"] and tree["stopped_by"] == "interrupted"
    assert tree["total"]["cycles"] == tree["kernel"]["cycles"] == sum(step.facts.cycles for step in known if step.facts)
    assert tree["total"]["simulated_launches"] == sum(len(step.simulated) for step in known) < tree["total"]["launches"]
    left = tree["total"]["launches"] - len(known)
    assert (tree["total"]["rows"], tree["total"]["finished_rows"], tree["total"]["unknown_launches"]) == (
        *(40, len(known), left),
    )
    text = piped(tree)
    assert f"launches: 40, of which {len(known)} were simulated, {left} not yet; equal ones" in text
    assert f"\ninterrupted: {left} of 40 rows are not finished\n" in text and "PARTIAL, interrupted" in text
    assert multiprocessing.active_children() == []


def test_a_row_s_metrics_are_found_out_once(one_process: NetworkRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = metrics.launch_tree

    def counted(facts: Any, *rest: Any) -> Any:
        asked.append(id(facts))
        return original(facts, *rest)

    monkeypatch.setattr(metrics, "launch_tree", counted)
    record = as_run(one_process)
    assert len(build_outcome([record], [""], 0).measured) > len(record.parts)
    tree = document(one_process.settings.resolved(), [record], about={"kind": "net", **NAMED})
    piped(tree)
    as_json(tree)
    of_rows = {id(part.facts) for part in record.parts}
    of_launches = {id(one.facts) for part in record.parts if len(part.launches) > 1 for one in part.launches}
    # findings ask further ones, sums of launches that are alike
    assert sorted(one for one in asked if one in of_rows | of_launches) == sorted(of_rows | of_launches)
    assert len(of_rows) > 20 and len(one_process.of_class) > 20


def test_a_layer_s_products_are_told_from_what_else_it_launches() -> None:
    layers = [layer("conv", "convolution", filters=3, kernel=3), *ENDS]
    record = as_run(record_of(layers))
    products = ("sgemm", "conv_s", "conv_weights")
    found = [part for part in record.parts if part.values["kind"] in ("convolution", "fully_connected")]
    found = [part for part in found if part.values["macs"] and part.what != "update"]
    assert len(found) > 4
    for part in found:
        others = sum(one.facts.cycles for one in part.launches if not one.kernel.startswith(products))
        assert part.facts.layer.other_cycles == others < part.facts.cycles
        times = [
            part.facts.time_us + len(part.launches) * GPU.kernel_launch_us,
            part.facts.time_us * (1 - others / part.facts.cycles),
        ]
        known = collect_formula_inputs(part.facts)
        for name, time_us in zip(("compute_efficiency", "product_compute_efficiency"), times, strict=True):
            expected = compute_efficiency(2 * part.values["macs"], time_us * 1e-6, GPU.clock_ghz * 1e9, 64 * GPU.cus)
            assert describe(f"layer.{name}").value(known) == pytest.approx(expected)
    assert any(part.facts.layer.other_cycles for part in found)


def test_a_later_run_goes_on_from_what_is_kept(tmp_path: Path) -> None:
    first = record_of(SHORT, store=tmp_path / "kept.db", layers="bn1:relu1")
    assert sum(len(step.simulated) for step in first.steps)
    second = record_of(SHORT, store=tmp_path / "kept.db")
    known = {step.name: step for step in second.steps}
    for step in first.steps:
        assert not known[step.name].simulated and known[step.name].facts == step.facts
        assert known[step.name].verification is not None
    assert known["pool.backward_data"].simulated
    again = record_of(SHORT, store=tmp_path / "kept.db")
    simulated = [s.name for s in again.steps if s.simulated]
    assert simulated == ["softmax.loss", "softmax.loss_gradient", "pool.backward_data"]


def test_what_is_kept_is_the_gpu_s_and_a_damaged_row_is_none(tmp_path: Path) -> None:
    store = tmp_path / "kept.db"
    (step, *_) = record_of(SHORT, store=store, layers="relu1", train=False).steps
    (one,) = step.classes
    assert LaunchCache(store, GPU).get(one) == step.facts
    assert LaunchCache(store, GPU, fresh=True).get(one) is None
    assert LaunchCache(store, load_gpu("r9nano")).get(one) is None
    with sqlite3.connect(store) as db:
        db.execute("UPDATE launch_classes SET facts = substr(facts, 1, 40)")
    assert LaunchCache(store, GPU).get(one) is None


def test_what_another_run_is_at_is_waited_for_and_not_simulated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"data": "synthetic", "layers": "relu1", "train": False}
    (alone,) = record_of(SHORT, **wanted).steps
    assert alone.facts is not None and alone.simulated == {0}
    marked = combined([alone.facts, alone.facts])
    asked: list[int] = []

    def hold(kept: LaunchCache, one: LaunchClass) -> bool:
        asked.append(1)
        if len(asked) == 2:
            kept.put(one, marked)
        return len(asked) > 2

    monkeypatch.setattr(LaunchCache, "hold", hold)
    (step,) = record_of(SHORT, store=tmp_path / "kept.db", **wanted).steps
    assert step.facts is not None and step.facts.cycles == 2 * alone.facts.cycles
    assert len(asked) == 3 and not step.simulated


def test_a_store_that_takes_no_more_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Any:
        raise StoreError("kept.db: the disk is full")

    monkeypatch.setattr("gpusim.results.store.pieces.writing", refused)
    assert record_of(SHORT, store=tmp_path / "kept.db", layers="relu1", train=False).passed


def test_the_store_has_launches_by_layer_pass_kernel_and_invocation(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    ran = run_job(SMALL, batch=BATCH, train=True, store=path)
    (record,) = ran.records
    work = describe_network_run(load_network(SMALL), ran.job.settings, ran.job.wanted)
    with StoreWriter(path) as keeper:
        assert keeper.found(work) is None
        keeper.keep(work, build_outcome(ran.records, [""], 0, ran.job.about), RunClock())
        assert keeper.found(work) is not None
    with StoreReader(path) as results:
        again = stored_run(results, "1").document()
        rows = results.query(
            "SELECT layers.name AS layer, pass, kernel, invocation, of_kernel, simulated FROM launches"
            " JOIN layers ON layers.id = launches.layer ORDER BY invocation"
        )
        cycles = results.table("metrics", name="kernel.cycles")
        by_position = results.query("SELECT name FROM layers ORDER BY position")
    tree = ran.tree
    assert again == json.loads(json.dumps(tree)), "a stored run shows what the run itself showed"
    assert [row["name"] for row in by_position] == [one["name"] for one in SHORT]
    expected = [
        (step.step.layer, str(step.step.what), one.kernel, number in step.simulated)
        for step in ran.last.steps
        for number, one in enumerate(step.classes)
    ]
    assert len(expected) == record.launched
    assert [(r["layer"], r["pass"], r["kernel"], bool(r["simulated"])) for r in rows] == expected
    assert [r["invocation"] for r in rows] == list(range(len(expected)))
    kernels = [one[2] for one in expected]
    assert [r["of_kernel"] for r in rows] == [kernels[:n].count(kernel) for n, kernel in enumerate(kernels)]
    passes = {(r["layer"], r["pass"]): r["value"] for r in cycles if r["launch"] is None}
    assert passes.pop((None, None)) == tree["kernel"]["cycles"] == tree["total"]["cycles"]
    assert passes == {(row["name"], row["pass"]): row["cycles"] for row in tree["rows"]}
    assert sum(r["value"] for r in cycles if r["launch"] is not None) == tree["total"]["cycles"]


def test_equal_work_is_found_in_a_store_and_other_work_is_not(tmp_path: Path) -> None:
    ran = run_job(SMALL, batch=BATCH, layers="relu1")

    def work(
        settings: dict[str, Any] | None = None, network_layers: list[dict[str, Any]] = SHORT, **wanted: Any
    ) -> RunDescription:
        held = NetworkSettings(**{"gpu": GPU, **(settings or {})})
        described = load_network({"input": INPUT, "layers": network_layers})
        return describe_network_run(described, held, NetworkRunRequest(**{"batch": BATCH, "layers": "relu1", **wanted}))

    with StoreWriter(tmp_path / "s.db") as keeper:
        keeper.keep(work(), build_outcome(ran.records, [""], 0, ran.job.about), RunClock())
        assert keeper.found(work()) is not None and keeper.found(work(jobs=7)) is not None
        for other in (
            work(batch=2), work(layers="relu2"), work(train=True), work(data="synthetic"), work(engine="on"),
            work({"gpu": load_gpu("r9nano")}), work({"seed": 2}), work({"convolution": "im2col"}),
            work(launches=launches(hotspots=3)), work(launches=launches(max_cycles=9)),
            work({"gpu": GPU.model_copy(update={"caches": "warm"})}), work(None, SHORT[1:], layers="relu1"),
        ):  # fmt: skip
            assert keeper.found(other) is None, other.configuration


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "short.yaml"
    path.write_text(yaml.safe_dump({"input": INPUT, "layers": SHORT}))
    return path


def test_the_command_writes_json_and_arrays(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    rng = np.random.default_rng(1)
    given = {"input": rng.normal(size=(2, *INPUT)).astype(np.float32), "labels": np.array([0, 1])}
    np.savez(tmp_path / "x.npz", **given)
    arguments = [
        *("net", str(file), "--batch", "2", "--phase", "train", "--jobs", "1"),
        *("--inputs", str(tmp_path / "x.npz")),
    ]
    assert invoke([*arguments, "--outputs", str(tmp_path / "y.npz"), "--json", "-"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert "real values; 14 of 14 rows compared with NumPy, all as expected\n" in captured.err
    assert found["schema_version"] == metrics.SCHEMA_VERSION and found["kind"] == "net"
    assert (found["values"], found["engine_mode"], found["engine"]) == ("real", "off", None)
    first = found["rows"][0]
    assert {"name", "operator", "pass", "kind", "cycles", "launches", "macs", "verification", "metrics"} <= set(first)
    assert (first["name"], first["pass"], first["verification"]["passed"]) == ("bn1", "forward", True)
    assert found["total"]["cycles"] == found["kernel"]["cycles"] == sum(row["cycles"] for row in found["rows"])
    assert sum(row["share"] for row in found["rows"]) == pytest.approx(1.0)
    assert found["verification"]["passed"] is True and found["phase"] == "train" and found["batch"] == 2
    compared = [row["verification"] for row in found["rows"] if row["verification"]["bound"]]
    assert found["verification"] == max(compared, key=lambda one: one["max_error"] / one["bound"])
    counts = {name: found["total"][name] for name in ("rows", "finished_rows", "compared_rows")}
    assert set(counts.values()) == {14} == {len(found["rows"])} and not found["partial"]
    for name in ("launches", "simulated_launches", "macs", "needed_macs"):
        assert found["total"][name] == sum(row[name] for row in found["rows"]) > 0
    for row in found["rows"]:
        assert row["cycles"] == row["metrics"]["kernel"]["cycles"]
        assert row["metrics"].keys() <= set(metrics.GROUPS)
    outputs = np.load(tmp_path / "y.npz")
    assert outputs["softmax.output"].sum(axis=1) == pytest.approx(1.0)
    assert outputs["bn1.scale.gradient"].shape == (2,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--no-verify"], "real values; no result is compared"),
        (["--data", "synthetic"], "made-up values; no result is compared"),
        (["--layers", "relu2"], "real values; 1 of 1 rows compared with NumPy, all as expected"),
    ],
)
def test_nothing_compared_is_not_said_to_be_as_expected(
    options: list[str], said: str, file: Path, capsys: pytest.CaptureFixture
) -> None:
    for more in ([], ["--markdown"]):
        assert invoke(["net", str(file), "--jobs", "1", *options, *more]) == 0
        lines = [line.removeprefix("- ") for line in capsys.readouterr().out.splitlines()]
        assert said in lines
        assert ("as expected" in said) == any("expected" in line for line in lines)


OTHER = "input: [4]\nlayers: [{name: a, kind: relu}]\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["short.yaml", "--batch", "0"], "short.yaml: batch: 0 is not allowed: must be from 1 to 65536"),
        (["short.yaml", "--layers", "bn3"], "layers: "),
        (["short.yaml", "--inputs", "none.npz"], "none.npz: cannot be read"),
        (["short.yaml", "--inputs", "short.yaml"], "short.yaml: holds no arrays"),
        (["short.yaml", "--inputs", "shape.npz"], "'input' has shape [1, 2, 3]; with batch 1 the network needs"),
        (["short.yaml", "--inputs", "name.npz"], "unknown tensor 'imput'"),
        (["short.yaml", "--inputs", "label.npz", "--phase", "train"], "'labels' has values from 7 to 7; allowed"),
        (["short.yaml", "--outputs", "y.txt"], "--outputs y.txt: the arrays are written as .npz"),
        (["short.yaml", "--outputs", "y.npz", "--data", "synthetic"], "given outputs need real data"),
        (["short.yaml", "--set", "gpu.memory_mib=4", "--batch", "9000"], "MI6 has 4 MiB (gpu.memory_mib): a batch of "),
        (["short.yaml", "--set", "training.rat=1"], "rate"),
        (["short.yaml", "--size", "3"], "--size: belongs to --dnnmark"),
        (["short.yaml", "--dnnmark"], "NETWORK short.yaml: --dnnmark runs benchmarks of its own"),
        (["--dnnmark", "--batch", "101"], "--batch 101: DNNMark's benchmarks have 100; allowed are 1 to 100"),
        (["loop.yaml"], "layer 'a': reads its own output"),
        (["what.yaml"], "unknown kind"),
        (["small.yaml"], "kernel 3×3 does not fit"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    arguments: list[str], said: str, file: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    np.savez("shape.npz", input=np.zeros((1, 2, 3)))
    np.savez("name.npz", imput=np.zeros((1, *INPUT)))
    np.savez("label.npz", labels=np.array([7]))
    Path("loop.yaml").write_text(
        "input: [3]\nlayers: [{name: a, kind: add, inputs: [input, b]}, {name: b, kind: relu}]\n"
    )
    Path("what.yaml").write_text("input: [3]\nlayers: [{name: a, kind: rely}]\n")
    Path("small.yaml").write_text("input: [3, 2, 2]\nlayers: [{name: a, kind: max_pool, kernel: 3}]\n")
    assert invoke(["net", *arguments]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpusim: error: ") and captured.err.count("\n") == 1, captured.err
    assert said in captured.err


@pytest.mark.parametrize(("columns", "said"), [(80, "pool1    bwd d"), (120, "pool1    back data")])
def test_the_table_fits_the_terminal(
    one_process: NetworkRecord, columns: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(tree_of(one_process), columns, monkeypatch)
    assert max(map(len, lines)) <= columns and not any("…" in line for line in lines)
    rows = [line for line in lines if re.match(r"\w+ +\S.* yes *$", line)]
    assert len(rows) == len(one_process.rows), "each row is one line"
    assert any(re.sub(" +", " ", line).startswith(re.sub(" +", " ", said)) for line in lines)
    explained = re.sub(r"\s+", " ", " ".join(lines))
    assert (LEGEND in explained) == (columns == 80), "what is abbreviated is explained"
    words = " ".join(explained.split())
    for told in ("time by pass", "time by kind of layer", "the 10 dearest rows", "bound by", "all as expected"):
        assert told in words, told


def test_a_script_gets_the_same(file: Path) -> None:
    result = gpusim.run_network(file, batch=2, layers="relu2", quiet=True, outputs=True)
    assert result.passed is True and [row["name"] for row in result["rows"]] == ["relu2"]
    assert result.total.cycles == result.kernel.cycles == result["rows"][0]["cycles"]
    with pytest.raises(UserError, match="phase: unknown choice 'training'"):
        gpusim.run_network(file, phase="training")  # type: ignore[arg-type]

"""Is whatever a script passes wrongly one of gpusim's errors, which names the argument?"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.config.files import SHIPPED
from gpusim.lab.checks.bench.bench import read_history
from workloads.data.activations_file import load_activations

OBJECT = SHIPPED / "examples" / "vector_add.hsaco"


@pytest.fixture(scope="module")
def gpu() -> gpusim.Device:
    return gpusim.Device({"base": "mi6", "memory_mib": 16}, timing=False, quiet=True)


@pytest.mark.parametrize(
    "wrong", [None, 3, 1.5, b"mi6", [], {1: 2}, {"l2": object()}, object(), "", "/", "\0", "~nobody", {"x": 1}]
)
def test_devices(wrong: Any) -> None:
    with pytest.raises(gpusim.GpusimError):
        gpusim.Device(wrong)


@pytest.mark.parametrize("wrong", ["off", 0, None])
def test_switches(gpu: gpusim.Device, wrong: Any) -> None:
    for name in ("timing", "quiet"):
        with pytest.raises(gpusim.GpusimError, match=rf"{name}: .* is neither True nor False"):
            gpusim.Device("mi6", **{name: wrong})
    with pytest.raises(gpusim.GpusimError, match=r"read_only: .* is neither"):
        gpu.array([1.0], read_only=wrong)


@pytest.mark.parametrize("sets", ["l2.size_kib=1024", 3, [3], {"l2.size_kib": object()}, {3: 1}, ["x"], ["=1"], [None]])
def test_sets(sets: Any) -> None:
    with pytest.raises(gpusim.GpusimError, match="set"):
        gpusim.Device("mi6", sets=sets)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda gpu: gpu.load(None), "a code object is a file's path or its bytes, not NoneType"),
        (lambda gpu: gpu.load(7), "not int"),
        (lambda gpu: gpu.load(b""), "code object in memory"),
        (lambda gpu: gpu.load("none.hsaco"), "none.hsaco: cannot be read"),
        (lambda gpu: gpu.load(OBJECT)[3], "unknown kernel '3'"),
        (lambda gpu: gpu.load(OBJECT)[[]], "unknown kernel '[]'"),
        (lambda gpu: gpu.array([[1, 2], [3]]), "host: is no array"),
        (lambda gpu: gpu.array(object()), "plain memory"),
        (lambda gpu: gpu.array([]), "no elements"),
        (lambda gpu: gpu.zeros(-1), "shape: -1"),
        (lambda gpu: gpu.zeros("4"), "shape: '4'"),
        (lambda gpu: gpu.zeros(1.5), "shape: 1.5"),
        (lambda gpu: gpu.zeros((2, None)), "shape: (2, None)"),
        (lambda gpu: gpu.zeros(3, "flout32"), "dtype: 'flout32'"),
        (lambda gpu: gpu.zeros(3, object), "plain memory"),
        (lambda gpu: gpu.zeros(1 << 40), "do not fit"),
        (lambda gpu: gpu.zeros(3).write("x"), "holds float32"),
        (lambda gpu: gpu.zeros(3).write([1, [2]]), "host: is no array"),
        (lambda gpu: gpu.zeros(3, np.uint8).write(300), "holds uint8, which"),
        (lambda gpu: gpu.zeros(3, np.int32).write(1.5), "holds int32, which"),
        (lambda gpu: gpu.zeros(3, np.int32).write(float("nan")), "holds int32, which"),
        (lambda gpu: gpu.zeros(3).write(1j), "holds float32, which"),
        (lambda gpu: gpu.zeros(3).pointer("x"), "offset_bytes: 'x'"),
        (lambda gpu: gpu.zeros(3).pointer(12), "offset 12 of 12 bytes"),
        (lambda gpu: gpu.queue(hotspots=-1), "hotspots: -1"),
        (lambda gpu: gpu.queue(timeline="t.pftrace"), "timeline: str"),
        (lambda gpu: gpu.queue().write(3, 3), "array: 3"),
        (lambda gpu: gpu.queue().read("x"), "array: str"),
        (lambda gpu: gpu.queue().read(gpu.zeros(3), [1, 2, 3]), "a NumPy array is needed, not list"),
        (lambda gpu: gpu.queue().copy(1, 2), "a device array on one side"),
        (lambda gpu: gpusim.Local("x"), "gpusim.Local takes a size in bytes, not str"),
        (lambda gpu: gpusim.Pointer(1.5), "gpusim.Pointer takes an address, not float"),
        (lambda gpu: gpusim.run(None), "config: a file's path or name or a mapping is needed, not NoneType"),
        (lambda gpu: gpusim.run("layerX"), "did you mean 'layer"),
        (lambda gpu: gpusim.run({}), "workload: is required but missing"),
        (lambda gpu: gpusim.run("layerB", engine="om"), "engine: unknown mode 'om'; did you mean 'on'"),
        (lambda gpu: gpusim.run("layerB", engine=True), "engine: unknown mode 'True'"),
        (lambda gpu: gpusim.run("layerB", hotspots="x"), "hotspots"),
        (lambda gpu: gpusim.run("layerB", verify=3), "verify"),
        (lambda gpu: gpusim.run("layerB", sets="x=1"), "sets: a list of texts"),
        (lambda gpu: gpusim.run("vector_add", engine="on"), "engine:"),
        (lambda gpu: gpusim.run("mi6"), "is a GPU, not a run"),
    ],
)
def test_calls(gpu: gpusim.Device, call: Callable[[gpusim.Device], object], named: str) -> None:
    with pytest.raises(gpusim.GpusimError) as caught:
        call(gpu)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kernel": "vector_add"}, "kernel: str 'vector_add' is no kernel"),
        ({"kernel": None}, "kernel: NoneType None is no kernel"),
        ({"global_size": "64"}, "global_size is 1 to 3 whole numbers, not '64'"),
        ({"global_size": None}, "global_size"),
        ({"global_size": (64, 1.5)}, "global_size"),
        ({"local_size": [0]}, "local_size"),
        ({"local_size": object()}, "local_size"),
        ({"global_offset": "x"}, "global_offset"),
        ({"args": "abc"}, "args: str 'abc' is neither a list of arguments nor a mapping"),
        ({"args": 3}, "args: 3 is neither"),
        ({"args": {1: 2}}, "takes ['a', 'b', 'c', 'n'], the launch gives ['1']: vector_add(float* a"),
        ({"args": [None, None, None, "x"]}, "argument 3 'n'"),
        ({"args": [None, None, None, 10**5000]}, "argument 3 'n': a number of 16610 bits does not fit"),
        ({"args": [np.zeros(3, np.float32), None, None, 0]}, "gpu.array copies it to the device"),
        ({"args": None, "kernarg": "x"}, "kernarg: str 'x' is not bytes"),
        ({"dynamic_lds_bytes": -1}, "dynamic_lds_bytes: -1"),
        ({"dynamic_lds_bytes": "x"}, "dynamic_lds_bytes: str 'x'"),
        ({"dynamic_lds_bytes": 1 << 40}, "bytes of LDS, a workgroup has at most 65536"),
        ({"max_instructions": 1.5}, "max_instructions: 1.5"),
        ({"hotspots": None}, "hotspots: NoneType None"),
        ({"observer": 3}, "observer: 3 is not a function"),
        ({"timeline": 3}, "timeline: 3"),
        ({"caches": 3}, "caches is 'flushed' or 'warm', not 3"),
    ],
)
def test_launches(gpu: gpusim.Device, change: dict, named: str) -> None:
    settings = {"kernel": gpu.load(OBJECT)["vector_add"], "global_size": 64, "local_size": 64, "args": [None] * 3 + [0]}
    with pytest.raises(gpusim.GpusimError) as caught:
        gpu.launch(**{**settings, **change})
    assert named in str(caught.value)


@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.int32])
def test_an_array_of_other_elements_is_refused_and_its_pointer_is_not(gpu: gpusim.Device, dtype: type) -> None:
    kernel, right, wrong = gpu.load(OBJECT)["vector_add"], gpu.zeros(64), gpu.zeros(64, dtype)
    with pytest.raises(gpusim.KernargError, match=rf"argument 1 'b'.*\(float\*\), found one of {np.dtype(dtype)}"):
        gpu.launch(kernel, 64, 64, [right, wrong, right, 64])
    gpu.launch(kernel, 64, 64, [right, wrong.pointer(), right, 64])


def test_results_are_mappings(gpu: gpusim.Device) -> None:
    a = gpu.zeros(64)
    result = gpu.launch(gpu.load(OBJECT)["vector_add"], 64, 64, [a, a, a, 64])
    assert result["kernel"]["workgroups"] == result.kernel.workgroups == dict(result.kernel)["workgroups"] == 1
    assert dict(result)["kernel"] == result.kernel
    assert "kernel" in result
    assert "kernal" not in result
    assert result.get("kernal") is None
    assert {**result.kernel} == result.to_dict()["kernel"]
    for wrong in (lambda: result["kernal"], lambda: result.kernal, lambda: result.kernel.wokgroups):
        with pytest.raises(gpusim.GpusimError, match="did you mean"):
            wrong()
    with pytest.raises(KeyError):
        result.kernel["wokgroups"]
    assert not hasattr(result.kernel, "wokgroups")


def test_every_error_is_of_one_base() -> None:
    errors = [getattr(gpusim, name) for name in gpusim.__all__ if name.endswith(("Error", "Fault"))]
    assert len(errors) > 12
    assert all(issubclass(error, gpusim.GpusimError) for error in errors)


def test_an_execution_runs_from_a_script() -> None:
    result = gpusim.run("vector_add", sets={"run.timing": False, "gpu.memory_mib": 64}, quiet=True)
    assert result.passed
    assert result.kernel.name == result["kernel"]["name"] == "vector_add"
    assert result.config.gpu.memory_mib == 64
    assert result.to_dict()["config"]["run"]["timing"] is False
    assert "vector_add" in repr(result)


def test_an_execution_from_a_script_replaces_none_of_its_inputs(tmp_path: Path) -> None:
    mine = tmp_path / "a.npy"
    np.save(mine, np.ones(10_000, np.float32))
    before = mine.read_bytes()
    sets = {"run.timing": False, "arguments.a": {"npy": mine, "output": mine}}
    with pytest.raises(gpusim.UserError, match=r"arguments\.a\.output .* would be overwritten"):
        gpusim.run("vector_add", sets=sets, quiet=True)
    assert mine.read_bytes() == before


def test_a_file_without_an_end_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isa.object.bundle.MAX_FILE_BYTES", 1 << 16)
    with pytest.raises(gpusim.CodeObjectError, match="/dev/zero: a code object has at most"):
        gpusim.Device("mi6", timing=False, quiet=True).load("/dev/zero")
    with pytest.raises(gpusim.UserError, match="/dev/zero: expected an activation file"):
        load_activations("/dev/zero")
    assert read_history(Path("/dev/zero")) == [], "a device keeps nothing"


@pytest.mark.parametrize("speed", ["0.0", "-1.5", "NaN", "Infinity", '"fast"', "null", "[" * 100_000])
def test_a_history_of_speeds_that_nothing_compares_with_is_refused(tmp_path: Path, speed: str) -> None:
    entry = '{"date": "x", "machine": "x", "kernel": "x", "instructions": 1, "instructions_per_s": %s}'
    (tmp_path / "h.jsonl").write_text("\n".join([entry % "1.5", entry % speed]))
    with pytest.raises(gpusim.UserError, match=r"h\.jsonl: is no benchmark history"):
        read_history(tmp_path / "h.jsonl")

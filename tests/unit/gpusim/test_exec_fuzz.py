"""Is any file of `gpusim exec`, however odd, either run or refused in one line?"""

import contextlib
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import example
from hypothesis import strategies as st

from gpusim.cli.main import invoke
from gpusim.config.exec import ArgumentSpec, ExecConfig, ExecRunSpec
from gpusim.config.files import SHIPPED
from tests.support.daily import given_daily

FILE = {
    "gpu": {"base": "mi6", "memory_mib": 4},
    "code_object": str(SHIPPED / "examples/vector_add.hsaco"),
    "kernel": "vector_add",
    "global_size": [100],
    "local_size": [64],
    "arguments": {
        "a": {"npy": "a.npy", "expected": 1},
        "b": {"random": "integers", "dtype": "int32", "shape": [100], "low": -3, "high": 4},
        "c": {"fill": 0, "dtype": "float32", "shape": [100]},
        "n": {"value": 100, "dtype": "uint32"},
    },
    "run": {"timing": False, "max_instructions": 1000},
}
ODD = [
    None,
    True,
    False,
    -1,
    0,
    1,
    3,
    1.5,
    1e300,
    2**31,
    2**63,
    2**64,
    10**30,
    float("nan"),
    float("inf"),
    "",
    "x",
    [],
    {},
]
ODD += [
    [0],
    [1],
    [-1],
    [3.5],
    [1, 1, 1, 1],
    [2**40],
    [2**32, 2**32],
    [5000, 5000],
    "a.npy",
    "wide.npy",
    "exec.yaml",
    ".",
]
PATHS = [(key,) for key in [*ExecConfig.model_fields, "x"] if key != "gpu"]
PATHS += [("arguments", name, key) for name in FILE["arguments"] for key in [*ArgumentSpec.model_fields, "x"]]  # type: ignore[index]
PATHS += [("arguments", name) for name in "abcnx"] + [
    ("run", key) for key in ExecRunSpec.model_fields if key != "timing"
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.ones(100, np.float32))
    np.save("wide.npy", np.ones((3, 100), np.complex64))
    return tmp_path


@given_daily(20, 80, st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(ODD)), min_size=1, max_size=3))
@example([(("arguments", "a", "npy"), "wide.npy")])
@example([(("global_size",), [2**32 - 1]), (("run", "max_instructions"), 3)])
@example([(("arguments", "b", "shape"), [2**40])])
@example([(("arguments", "c", "shape"), [2**32, 2**32])])
@example([(("arguments", "a", "output"), ".")])
@example([(("global_offset",), [2**32 - 1])])
def test_odd_values_anywhere(folder: Path, capfd: pytest.CaptureFixture, changes: list) -> None:
    data = yaml.safe_load(yaml.safe_dump(FILE))
    for path, value in changes:
        holder = data
        for key in path[:-1]:
            if not isinstance(holder.get(key), dict):
                holder[key] = {}
            holder = holder[key]
        holder[path[-1]] = value
    (folder / "exec.yaml").write_text(yaml.safe_dump(data))
    with contextlib.suppress(OSError):
        (folder / "x").unlink()
    code = invoke(["exec", "exec.yaml", "--quiet"])
    captured = capfd.readouterr()
    assert captured.out == ""
    assert code in (0, 1, 2)
    lines = captured.err.splitlines()
    assert bool(lines) == (code == 2)
    assert all(line.startswith("gpusim: error: ") for line in lines)

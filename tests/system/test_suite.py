"""Is a folder of kernels and programs run, judged and compared with measured times, and is what it lacks named?"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.study.suite import SuiteEntry, find_entries, read_measured
from tests.support.invoked import invoked

EXAMPLES = Path(__file__).parents[2] / "sim_configs/examples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "suite"
    shutil.copytree(EXAMPLES, made)
    (made / "other.yaml").write_text("workload: {kind: gemm}\n")
    return made


def test_entries_are_run_judged_and_compared(folder: Path, tmp_path: Path) -> None:
    text = (folder / "vector_add.yaml").read_text()
    (folder / "wrong.yaml").write_text(text.replace("vector_add_c.npy", "vector_add_a.npy"))
    (folder / "suite.yaml").write_text("programs: {absent: ./absent 1}\n")
    measured = tmp_path / "card.csv"
    measured.write_text("name, kernel_us\nvector_add, 2.5\n")
    found: dict[str, Any] = {}
    done = invoked(
        ["suite", str(folder), "--measured", str(measured), "--json", str(tmp_path / "s.json"), "--gpu", "mi6"]
        + ["--set", "gpu.l2.size_kib=1024", "--set", "l2.ways=8"]
    )
    assert done.returncode == 1
    for row in json.loads((tmp_path / "s.json").read_text())["rows"]:
        found[row.pop("name")] = row
    assert {name: row["verdict"] for name, row in found.items()} == {
        "vector_add": "verified", "wrong": "WRONG", "absent": "failed",
    }, "--set takes the GPU's values with and without `gpu.`, as hip does"  # fmt: skip
    assert found["vector_add"]["ratio"] == found["vector_add"]["kernel_us"] / 2.5
    assert "the result is WRONG" in found["wrong"]["problem"] and found["wrong"]["ratio"] is None
    assert "./absent" in found["absent"]["problem"] and found["absent"]["kernel_us"] is None
    assert "wrong: WRONG: " in done.stdout + done.stderr


def test_kernels_and_programs_of_a_folder_are_found(folder: Path) -> None:
    shutil.copy("/bin/true", folder / "runs")
    assert [(one.name, one.kind) for one in find_entries(folder)] == [("vector_add", "exec"), ("runs", "hip")]
    (folder / "suite.yaml").write_text("programs: {'runs twice': \"./runs 'a b' 2\"}\n")
    assert find_entries(folder)[1].arguments == ("./runs", "a b", "2")
    recorded = folder / "0012-add/launch.yaml"
    recorded.parent.mkdir()
    shutil.copy(folder / "vector_add.yaml", recorded)
    assert find_entries(folder)[1] == SuiteEntry("0012-add", "exec", (str(recorded),))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("programs: {vector_add: ./x}", "'vector_add' is the name of two entries"),
        ("programs: {x: ''}", "programs.x: is empty"),
        ('programs: {x: "a \'b"}', "programs.x: is no command line"),
        ("programs: {x: [a]}", "programs.x"),
        ("kernels: {}", "programs"),
    ],
)
def test_what_is_no_suite_is_refused(text: str, words: str, folder: Path, tmp_path: Path) -> None:
    (folder / "suite.yaml").write_text(text)
    with pytest.raises(UserError) as refused:
        find_entries(folder)
    assert words in str(refused.value)
    with pytest.raises(UserError, match="has nothing to run"):
        find_entries(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "line 1: a table of measured times has the columns name and kernel_us or host_us"),
        ("name,kernel_us\nsoftmaks,1\n", "line 2: unknown entry 'softmaks'; did you mean 'softmax'?"),
        ("name,host_us\nsoftmax,0\n", "line 2: host_us: '0' is no time in microseconds above 0"),
        ("name,host_us\nsoftmax,x\n", "line 2: host_us: 'x' is no time"),
    ],
)
def test_a_mistake_in_measured_times_is_named(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text(text)
    with pytest.raises(UserError) as refused:
        read_measured(file, ["softmax", "gemm"])
    assert words in str(refused.value)
    file.write_text("name, kernel_us, host_us\ngemm, 3, \nsoftmax, 1, 2\n")
    times = read_measured(file, ["softmax", "gemm"])
    assert times == {"gemm": {"kernel_us": 3.0}, "softmax": {"kernel_us": 1.0, "host_us": 2.0}}

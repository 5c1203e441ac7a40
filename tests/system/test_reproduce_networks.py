"""Does `gpusim reproduce` run networks, each once for all figures, go on where it was, and take a user's own?"""

from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from gpusim.lab.papers.records import load
from tests.support.network_reproduction import GAIN, INDEX, TIME, written
from workloads.toolchain.build import compiler_available

STACK = """
kind: layer_stack
title: Stalls
source: Figure 3
by: layer
measures:
  memory: {of: profile.stall_memory_dependency, shown: percent}
  fetch: {of: profile.stall_inst_fetch, shown: percent}
"""
LAUNCHES = "{kind: launches, title: Longest, source: Table 1, most: 2}"
MEMORY = "{kind: layer_memory, title: Memory, source: Figure 4}"


def test_a_user_s_own_publication_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    index = INDEX.replace("[time, gain]", "[time, gain, stack, longest, memory]").replace("[1, 2]", "[1]")
    file = written(tmp_path, index, gain=GAIN.replace("[2]", "[1]"), stack=STACK, longest=LAUNCHES, memory=MEMORY)
    command = ["reproduce", str(file), "--jobs", "1"]
    assert invoke([*command, "--gpu", "mi6"]) == 0, "one of its own GPUs: some of its runs"
    said = capfd.readouterr()
    assert "1 of 1 points: 1 ran" in said.err
    assert said.out.startswith("Which layer of net takes the time?\n- ")
    page = Path("nets/README.md").read_text()
    assert "Not run, and nothing is concluded of it: net 1 r9nano plain" in page
    assert invoke(command) == 0
    assert "2 of 2 points: 1 ran, 1 were there" in capfd.readouterr().err
    files = {path.name: path.read_bytes() for path in Path("nets").iterdir() if path.suffix != ".yaml"}
    assert "not run" not in files["claims.md"].decode() and b"conv1" in files["time-time.csv"]
    assert {"time.svg", "gain.svg", "stack.svg", "memory.svg", "longest.md", "results.json"} <= set(files)
    for kept in load(Path("nets"), "nets").networks.values():
        times = {by: [row.metrics["kernel.time_us"] for row in kept.rows if row.by == by] for by in ("pass", "kind")}
        whole = next(row for row in kept.rows if (row.by, row.part) == ("network", "all"))
        hits = sum(row.metrics["l2.hit_rate"] * row.metrics["l2.transactions"] for row in kept.rows if row.by == "pass")
        assert {round(sum(held), 1) for held in times.values()} == {round(whole.metrics["kernel.time_us"], 1)}
        assert round(sum(one.time_us for one in kept.launches), 1) == round(whole.metrics["kernel.time_us"], 1)
        rate = hits / whole.metrics["l2.transactions"]
        assert whole.metrics["l2.hit_rate"] == pytest.approx(rate, rel=1e-4), "a rate of all accesses, not of rates"
    for name in files.keys() - {"results.json"}:
        Path("nets", name).unlink()
    assert invoke(["reproduce", str(file), "--draw"]) == 0
    assert {path.name: path.read_bytes() for path in Path("nets").iterdir() if path.suffix != ".yaml"} == files


@pytest.mark.skipif(not compiler_available(), reason="needs clang and lld: code for gfx906 is not shipped")
def test_a_gpu_of_another_generation_by_its_name_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    index = (
        INDEX.replace("[mi6, r9nano]", "[mi60]")
        .replace("    lowered: {title: lowered, sets: {convolution: im2col}}\n", "")
        .replace("[time, gain]", "[time]")
        .replace("[1, 2]", "[1]")
    )
    assert invoke(["reproduce", str(written(tmp_path, index, time=TIME)), "--jobs", "1"]) == 0, capfd.readouterr().err
    (kept,) = load(Path("nets"), "nets").networks.values()
    assert sum(row.metrics["kernel.time_us"] for row in kept.rows if row.by == "pass") > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nets.yaml", "--batch", "1,x"], "--batch '1,x': 'x' is no batch; expected numbers such as 16,64,128"),
        (["nets.yaml", "--gpu", "mi6,"], "--gpu 'mi6,': a name is missing"),
        (["nets.yaml", "--network", "nett"], "--network nett: no such configuration file"),
        (["spartan", "--batch", "4"], "--batch: the figures of spartan are of matrix products, not of networks"),
        (["nets.yaml", "--draw"], "results.json: cannot be read"),
    ],
)
def test_what_cannot_be_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, time=TIME)
    assert invoke(["reproduce", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and len(said.splitlines()) == 1

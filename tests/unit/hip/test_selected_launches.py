"""Are some launches of a program a result of their own: one as a run, several as their sum, all as the program?"""

from functools import cache
from typing import Any

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.base.launch_selector import ProgramLine, parse_selector
from gpusim.base.progress import Reporter
from gpusim.jobs.hip.job import HipJob, _fill
from gpusim.jobs.hip.launching import Launcher, LaunchOptions, ProgramLaunches
from gpusim.jobs.hip.supervisor import HostProgram
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.model import EnergyModel
from gpusim.model.energy.spec import EnergySpec
from gpusim.results import metrics
from gpusim.results.records.record import CommandTimes, RunRecord
from gpusim.results.report.document import document
from gpusim.results.report.lanes import command_columns, read_commands
from gpusim.results.report.page.page import page
from gpusim.results.report.result import read
from gpusim.results.report.selected import select_launches
from gpusim.results.report.terminal import as_text
from isa.object.code_object import Kernel
from tests.support.functional import Device, kernel
from tests.support.results import draw_alone

NAMES = ("kernel.name", "kernel.occupancy_limiter")  # in the order of the kernels
OF_THE_PROGRAM = ("host", "simulator", "verification", "layer", "data")


@cache
def program() -> dict[str, Any]:
    """Return the result of a program of four launches: vector_add of three sizes, with a reduction between them."""
    gpu = GpuSpec.model_validate({"shader_arrays": 1, "cus_per_array": 2})
    device = Device()
    for name in "abc":
        device.put(name, np.ones(2048, np.float32))
    add = kernel("vector_add", "vector_add")
    reduce = kernel("reduction", "reduce_sum")
    programs: list[tuple[Kernel, int, tuple[Any, ...]]] = [
        (add, 512, ("a", "b", "c", 512)),
        (add, 64, ("a", "b", "c", 64)),
        (reduce, 512, ("a", "b", "c")),
        (add, 2048, ("a", "b", "c", 2048)),
    ]
    launches = ProgramLaunches()
    launcher = Launcher(LaunchOptions(gpu, keep=True), launches, Reporter(quiet=True))
    for number, (code, size, arguments) in enumerate(programs, 1):
        launch = device.launch(code, size, 256 if code is reduce else 64, *arguments)
        facts = launcher.run(launch, True, lambda _: True, None)
        line = ProgramLine("train.py", 10 + number, "step")
        launcher.note(launch, facts, line, process=7, number=number, stream=number % 2)
    job = HipJob(HostProgram(["./program"]), gpu, keep=True)
    record = RunRecord(False, "", [], energy=EnergyModel.of(EnergySpec(), gpu))
    _fill(record, launches, 0)
    return document(job.resolved(), [record], [""], job.about)


def chosen(*conditions: str) -> dict[str, Any]:
    return select_launches(program(), parse_selector("--only", conditions), "p.json")


def comparable(tree: dict[str, Any]) -> dict[str, Any]:
    kept = {group: tree[group] for group in metrics.GROUPS if group not in OF_THE_PROGRAM}
    return {path: value for path, value in metrics.leaves(kept) if path not in NAMES}


def test_all_launches_are_the_program_again() -> None:
    """The sums are made anew of the launches' metrics, and agree with those that the run has made of its counts."""
    found = chosen("launch=1-")
    assert comparable(found) == comparable(program())
    rows, own = ({row["name"]: row for row in one["rows"]} for one in (found, program()))
    assert list(rows) == list(own)
    for name, row in rows.items():
        assert comparable(row["metrics"]) == comparable(own[name]["metrics"])
        for key in ("launches", "timed", "cycles", "workgroups", "wavefront_instructions", "share", "bound"):
            assert row[key] == own[name][key], key
    assert found["access_patterns"] == program()["access_patterns"]


def test_one_launch_is_a_run() -> None:
    found = chosen("launch=2")
    (launch,) = found["launches"]
    assert launch == program()["launches"][1] and "rows" not in found
    assert comparable(found) == comparable(launch)
    (remark,) = found["remarks"]
    assert remark.startswith("only launch=2: 1 of 4 launches: 64 × 1 × 1 work-items in workgroups of 64 × 1 × 1")
    assert [spot["kernel"] for spot in found["access_patterns"]] == [], "its kernel has other launches too"


def test_a_kernel_is_the_sum_of_its_launches_with_its_instructions() -> None:
    found = chosen("kernel=^vector_add$")
    (row,) = found["rows"]
    (own,) = (row for row in program()["rows"] if "vector_add" in row["name"])
    assert found["kernel"]["cycles"] == row["cycles"] == own["cycles"]
    assert {spot["kernel"] for spot in found["access_patterns"]} == {own["name"]}
    assert "launches" in as_text(found) or row["launches"] == own["launches"]


def test_launches_are_selected_by_the_line_that_made_them() -> None:
    (launch,) = chosen("line=train.py:13")["launches"]
    assert launch["launch"]["number"] == 3
    assert len(chosen("line=train.py:12-14")["launches"]) == 3


def test_a_selector_without_conditions_changes_nothing() -> None:
    assert chosen() == program()


def test_what_cannot_be_selected_is_refused() -> None:
    with pytest.raises(UserError, match=r"p.json: --only kernel=reduce_sun: no .* did you mean 'reduce_sum'\?"):
        chosen("kernel=reduce_sun")
    selector = parse_selector("--only", ["launch=1"])
    without = {key: value for key, value in program().items() if key != "exit_code"}
    with pytest.raises(UserError, match="results of programs"):
        select_launches(without, selector, "p.json")
    sampled = {**program(), "launches": [{**one, "sampling": {"method": "x"}} for one in program()["launches"]]}
    with pytest.raises(UserError, match="select one launch"):
        select_launches(sampled, parse_selector("--only", ["launch=1-2"]), "p.json")
    damaged = {**program(), "config": {**program()["config"], "gpu": {"name": 5}}}
    with pytest.raises(UserError, match="is no configuration of this version"):
        select_launches(damaged, parse_selector("--only", ["launch=1-2"]), "p.json")


def test_a_programs_page_has_each_kernel_and_its_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_alone(monkeypatch, "stalls")
    text = page({"p.json": read(program())}, {})
    for number, row in enumerate(program()["rows"], 1):
        assert f'id="r1-k{number}"' in text and f'id="r1-k{number}-stalls"' in text
        assert f"{row['launches']} launch" in text
    assert 'href="#r1-kernels"' in text and "All 4 launches" in text
    one = page({"p.json": read(chosen("launch=2"))}, {})
    assert "r1-kernels" not in one and "only launch=2: 1 of 4 launches" in one


def test_several_launches_have_their_part_of_the_timeline() -> None:
    copy = CommandTimes("a", 0.0, 0.0, 1.0, copied_bytes=64, direction="to the device")
    names = ("vector_add", "vector_add", "reduce_sum", "vector_add")
    kernels = [CommandTimes(name, n, n + 0.5, n + 0.75, 0, n % 2, "", n) for n, name in enumerate(names, 1)]
    whole = program() | {"commands": command_columns([copy, *kernels])}
    found = select_launches(whole, parse_selector("--only", ["kernel=vector_add"]), "p.json")
    assert read_commands(found["commands"]) == [kernels[0], kernels[1], kernels[3]]
    assert "commands" not in select_launches(whole, parse_selector("--only", ["launch=2"]), "p.json"), "as of a run"
    assert "commands" not in chosen("kernel=vector_add"), "nor where the result has none"

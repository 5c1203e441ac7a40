"""Is the record of a HIP program the sum of its launches, and its JSON object that of any job, a line a launch?"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.launch_selector import ProgramLine
from gpusim.jobs.hip.job import HipJob, _fill
from gpusim.jobs.hip.launching import KernelSums, ProgramLaunches
from gpusim.jobs.hip.supervisor import HostProgram
from gpusim.jobs.host.queue import StreamQueue
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results import metrics
from gpusim.results.records.record import CommandTimes, RunRecord
from gpusim.results.report.document import as_json, document
from gpusim.results.report.result import read
from gpusim.results.report.rows import views_of

ASKED = HipJob(HostProgram(["./program", "x"]), GpuSpec(), keep=True)


def facts(name: str, cycles: int | None, instructions: int = 100, lines: int = 40) -> RunFacts:
    """Facts of a launch; cycles: None: of one that was executed alone."""
    timed: dict[str, dict[str, Any]] = {}
    if cycles is not None:
        l1 = {"read_transactions": lines, "write_transactions": 0, "hits": 8}
        timed = {"roofline": {"valu": cycles / 2}, "stalls": {"issued": 7, "memory_dependency": 3}, "l1": l1}
    kernel: dict[str, Any] = {"name": name, "clock_ghz": 2.0, "wavefront_instructions": instructions, "workgroups": 3}
    return RunFacts.of(kernel=kernel if cycles is None else {**kernel, "cycles": cycles}, **timed)


def launched(*launches: RunFacts) -> ProgramLaunches:
    """What these launches leave behind, one after another."""
    found = ProgramLaunches()
    at = 0.0
    for one in launches:
        note(found, one)
        took = one.time_us if one.roofline is not None else 0.0
        found.times.append(CommandTimes(one.kernel.name, at, at, at + took, place="process 7"))
        at += took
    return found


def note(found: ProgramLaunches, one: RunFacts) -> None:
    found.sums.setdefault(one.kernel.name, KernelSums()).add(one)
    found.kept.append(one)
    found.places.append({"kernel": one.kernel.name, "process": 7})


def record_of(found: ProgramLaunches, code: int = 0) -> RunRecord:
    record = RunRecord(False, "", [])
    _fill(record, found, code)
    return record


def document_of(record: RunRecord) -> dict[str, Any]:
    return document(ASKED.resolved(), [record], [""], ASKED.about)


def test_rows_are_the_sums_of_their_kernels_launches() -> None:
    launches = [facts("a", 100), facts("b", 3000, 7), facts("a", 250, 11, 60), facts("c", None, 5), facts("c", None, 6)]
    found = document_of(record_of(launched(*launches)))
    assert [row["name"] for row in found["rows"]] == ["b", "a", "c"], "by their cycles, then by their instructions"
    for row in found["rows"]:
        own = [one for one in launches if one.kernel.name == row["name"]]
        assert row["launches"] == len(own)
        assert row["workgroups"] == 3 * len(own)
        assert row["wavefront_instructions"] == sum(one.kernel.wavefront_instructions for one in own)
        timed = [one for one in own if one.roofline is not None]
        assert row["timed"] == row["simulated_launches"] == len(timed)
        assert row["cycles"] == (sum(one.cycles for one in timed) if timed else None)
        assert row["metrics"]["kernel"]["wavefront_instructions"] == row["wavefront_instructions"]
        if timed:
            assert row["time_us"] == pytest.approx(sum(one.time_us for one in timed))
            assert row["share"] == pytest.approx(row["cycles"] / 3350)
            assert row["bound"] == {"name": "valu", "utilization": 0.5}
            assert row["metrics"]["l1"]["transactions"] == sum(one.l1.read_transactions for one in timed)
    by_launch = [one["kernel"]["cycles"] for one in found["launches"]]
    assert by_launch == [100, 3000, 250, None, None]
    assert found["kernel"]["cycles"] == found["total"]["cycles"] == 3350
    assert (found["total"]["launches"], found["total"]["simulated_launches"], found["total"]["rows"]) == (5, 3, 3)
    assert found["host"]["launches"] == 5


def test_a_kernel_that_was_timed_in_part_has_the_metrics_of_the_timed_launches() -> None:
    (row,) = document_of(record_of(launched(facts("a", 100), facts("a", None))))["rows"]
    assert (row["launches"], row["timed"], row["wavefront_instructions"]) == (2, 1, 200)
    assert (row["metrics"]["kernel"]["wavefront_instructions"], row["cycles"]) == (100, 100)


def test_many_launches_of_a_kernel_are_summed_as_they_come() -> None:
    record = record_of(launched(*(facts("a", 10 + n) for n in range(200))))
    assert record.parts[0].facts is not None
    assert record.parts[0].facts.cycles == record.total.cycles == sum(10 + n for n in range(200))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_each_launch_is_a_line(count: int) -> None:
    result = document_of(record_of(launched(*(facts(f"k{n}", 10) for n in range(count))), 3))
    text = as_json(result)
    assert json.loads(text) == result and text.endswith("\n")
    lines = [line for line in text.splitlines() if line.startswith('    {"launch"')]
    assert [json.loads(line.rstrip(",")) for line in lines] == result["launches"]
    assert len(result["launches"]) == len(result["rows"]) == result["total"]["launches"] == count
    assert (result["exit_code"], result["kind"], result["schema_version"]) == (3, "hip", metrics.SCHEMA_VERSION)
    assert set(result) >= {"streams", "config", "config_hash", "partial", *metrics.GROUPS}


def test_what_json_has_no_number_for_is_refused() -> None:
    result = document_of(record_of(launched(facts("k", 10))))
    result["launches"][0]["kernel"]["cycles"] = float("nan")
    with pytest.raises(ValueError, match="Out of range"):
        as_json(result)


def times(*began: tuple[float, float, int, str]) -> list[CommandTimes]:
    return [CommandTimes("k", at, at, end, 0, stream, place) for at, end, stream, place in began]


def test_streams_have_numbers_by_their_first_commands_and_launches_by_their_calls() -> None:
    queue = StreamQueue(5.0)
    queue.new_stream(0x70, blocking=False)
    queue.new_stream(0x90, blocking=False)
    queue.kernel(0x90, 50.0, name="a")
    queue.copy(0x70, 1.0, over_link=True, blocking=False, name="c")
    queue.kernel(0x70, 1.0, name="b")
    queue.kernel(0, 1.0, name="d")
    queue.finish()
    found = {one.name: (one.stream, one.number) for one in queue.times}
    assert found == {"a": (1, 1), "c": (2, 0), "b": (2, 2), "d": (0, 3)}
    assert queue.stream_number(0x70) == 2


def test_what_streams_did_is_summed_up() -> None:
    launches = launched(facts("k", 10))
    copy = CommandTimes("copy", 1.0, 1.5, 4.0, 1000, 1, "process 7")
    launches.times = [*times((2, 3, 2, "process 7"), (3, 4.5, 2, "process 7"), (0, 1, 0, "process 7")), copy]
    found = document_of(record_of(launches))
    streams = {one["stream"]: one for one in found["streams"]}
    assert list(map(str, streams)) == ["0", "1", "2"], "each has a name of its own"
    assert streams["2"] == {
        "stream": "2", "kernels": 2, "kernel_us": 2.5, "copies": 0, "copied_bytes": 0, "copy_us": 0.0, "ended_us": 4.5,
    }  # fmt: skip
    assert (streams["1"]["copies"], streams["1"]["copied_bytes"], streams["1"]["copy_us"]) == (1, 1000, 2.5)
    assert found["host"]["time_us"] == 4.5
    launches.times = times((0, 1, 0, "process 7"), (0, 1, 0, "process 8"))
    assert [one["stream"] for one in document_of(record_of(launches))["streams"]] == ["process 7: 0", "process 8: 0"]


def test_a_program_is_shown_by_its_kernels_and_streams() -> None:
    result = read(document_of(record_of(launched(facts("a", 100), facts("a", 100), facts("c", None, 5)))))
    assert result.title.startswith("program ./program x on ")
    table = views_of(result).rows_table()
    heads = [column.name for column in table.columns]
    assert heads == ["launches", "cycles", "time us", "share", "bound", "instructions", "kernel"]
    assert table.tabbed().splitlines()[1:3] == [
        "2\t200\t0.1\t100.0%\tvector ALUs 50%\t200\ta", "1\t–\t–\t–\t–\t5\tc",
    ]  # fmt: skip
    (streams,) = views_of(result).summaries()
    assert streams.tabbed().splitlines()[1].split("\t") == ["0", "3", "0.1", "0", "0.00", "0.0", "100.0%"]


def test_lines_of_a_python_program_are_the_sums_of_their_launches(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("first()\n  second()\n")
    first, second = ProgramLine(str(script), 1, "<module>"), ProgramLine(str(script), 2, "step")
    found = launched(facts("a", 100), facts("b", 3000, 7), facts("a", 250, 11), facts("c", None, 5), facts("a", 50))
    for one, line in zip(found.kept, [first, second, second, first], strict=False):
        found.lines.setdefault(line, {}).setdefault(one.kernel.name, KernelSums()).add(one)
    result = document_of(record_of(found))
    lines = {line["line"]: line for line in result["lines"]}
    assert list(lines) == [2, 1], "by their cycles"
    assert (lines[2]["cycles"], lines[2]["launches"], lines[2]["timed"], lines[2]["text"]) == (3250, 2, 2, "second()")
    assert (lines[1]["cycles"], lines[1]["launches"], lines[1]["timed"], lines[1]["function"]) == (
        100,
        2,
        1,
        "<module>",
    )
    assert lines[2]["share"] == pytest.approx(3250 / 3400) and lines[1]["time_us"] == pytest.approx(0.05)
    assert [kernel["name"] for kernel in lines[2]["kernels"]] == ["b", "a"]
    assert [group["launches"] for group in lines[2]["launch_groups"]] == [1, 1] and "launch_groups" not in lines[1]
    table, _ = views_of(read(result)).summaries()
    assert table.tabbed().splitlines()[1].split("\t")[3:] == [
        "vector ALUs 50%",
        f"{script}:2",
        "b and 1 other",
        "second()",
    ]


def test_a_program_is_always_run() -> None:
    assert not ASKED.work.repeatable and ASKED.work.kind == HipJob.kind == "hip"

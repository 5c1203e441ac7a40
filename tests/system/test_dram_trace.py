"""Do traces of DRAM have every command that was counted, in the forms that Ramulator 2 reads and writes?"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from gpusim.results.timeline.dram_trace import DramTrace, name_levels
from memory.cache.l2_state import L2Spec
from memory.dram.spec import DramSpec, resolve
from tests.support.gemm import random_gemm

SIZES: dict[str, Any] = {"shader_arrays": 1, "cus_per_array": 2, "l2": L2Spec(size_kib=16, ways=4, channels=4)}


def traced(path: Path, dram: DramSpec, launches: int = 1) -> tuple[list[Any], list[list[str]]]:
    """Facts of equal launches, of which the trace changes nothing, and the trace's lines, split at commas."""
    gpu = GpuSpec(**{**SIZES, "dram": dram})
    (launch,) = random_gemm("sgemm_wide", (64, 128, 64), gpu).launches
    plain = simulate(launch, gpu)
    with DramTrace(path) as trace:
        facts = [simulate(launch, gpu, timeline=trace) for _ in range(launches)]
    assert all(one.dram == plain.dram and one.cycles == plain.cycles for one in facts)
    (line,) = trace.summary()
    lines = [text.split(",") for text in path.read_text().splitlines()]
    assert f"{trace.commands:,} " in line
    return facts, lines


@pytest.mark.parametrize(
    ("standard", "unit"),
    [("hbm1", []), ("hbm2", ["PseudoChannel"]), ("ddr4", ["Rank"]), ("hbm3", ["PseudoChannel", "Sid"])],
)
def test_every_command_is_a_line(standard: str, unit: list[str], tmp_path: Path) -> None:
    dram = DramSpec(channels=4, standard=standard)
    timing = resolve(dram)
    facts, (head, *rows) = traced(tmp_path / "t.csv", dram, 2)
    levels = ["Channel", *unit, "BankGroup", "Bank", "Row", "Column"]
    assert head == ["clock", "command", *levels, "type", "source"] and name_levels(standard, timing) == levels
    found = Counter(row[1] for row in rows)
    counted: Counter[str] = Counter()
    for one in facts:
        counted["ACT"] += one.dram.activates
        counted["RD"] += one.dram.reads * timing.bursts_per_line
        counted["WR"] += one.dram.writes * timing.bursts_per_line
    assert {name: found[name] for name in counted} == counted and counted["WR"]
    sizes = [4, *[timing.units, 1][: len(unit)], timing.bank_groups, timing.banks_per_group, timing.rows]
    clocks: dict[str, int] = {}
    for clock, command, *address in rows:
        for value, size in zip(address, sizes, strict=False):
            assert -1 <= int(value) < size
        assert int(clock) >= clocks.get(address[0], 0), "in the order of each channel's clock, launch after launch"
        clocks[address[0]] = int(clock)
        assert address[-2:] == [{"RD": "0", "WR": "1"}.get(command, "-1"), "-1"]


def test_reads_and_writes_alone_are_what_a_front_end_reads(tmp_path: Path) -> None:
    dram = DramSpec(channels=4)
    _, (_, *rows) = traced(tmp_path / "t.csv", dram)
    traced(tmp_path / "t.trace", dram)
    expected = [f"{row[1][0]} {','.join(row[2:-2])}" for row in rows if row[1] in ("RD", "WR")]
    assert (tmp_path / "t.trace").read_text().splitlines() == expected


def test_what_has_no_commands_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="ideal"):
        traced(tmp_path / "t.csv", DramSpec(channels=4, model="ideal"))
    file = str(tmp_path / "x.csv")
    assert invoke(["net", "lenet", "--dram-trace", file]) == 2
    assert invoke(["exec", "vector_add", "--dram-trace", file, "--timeline", str(tmp_path / "t")]) == 2
    assert invoke(["exec", "vector_add", "--dram-trace", file, "--quiet"]) == 0
    said = capsys.readouterr().err
    assert "--dram-trace" in said and "not together with a timeline of cycles" in said
    assert (tmp_path / "x.csv").read_text().startswith("clock,command,Channel,")

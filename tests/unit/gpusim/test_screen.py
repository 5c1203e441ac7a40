"""Does a person see first what matters, on a terminal, a pipe and a poor terminal, and all the rest in sections?"""

import io
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.model.core.facts import Hotspot, RunFacts
from gpusim.results.metrics import METRICS
from gpusim.results.records.record import RunRecord
from gpusim.results.report import terminal
from gpusim.results.report.layout import bar
from gpusim.results.report.result import read
from gpusim.results.report.sections import SECTIONS, list_section_paths
from gpusim.results.report.terminal import PrintOptions
from isa.execution.resident import WavefrontGroup
from isa.object.line_table import SourceFile, SourceLine
from tests.support.results import QUIET, changed, everything, network_of, of_records, result_of
from tests.support.streams import Terminal, too_wide, without_styles

LINE = SourceLine(SourceFile("src/k.cl"), 12)
MANGLED = "_Z7softmaxIfLj256EEvPKT_PS0_j"
ALL = PrintOptions(details=True)
PLAIN = changed(QUIET, {"hotspots": None})
FASTER = changed(PLAIN, {"kernel.cycles": 50_000, "kernel.name": "k_sparse"})


def record(cycles: int = 1234567, partial: bool = False, variant: str = "", name: str = "sgemm") -> RunRecord:
    kernel = {"name": name, "clock_ghz": 1.0, "cycles": cycles, "workgroups": 3, "workgroups_total": 1200}
    facts = RunFacts.of(partial, kernel=kernel, roofline={"valu": 1.5}, stalls=dict.fromkeys(STALL_REASONS, 8))
    return RunRecord(False, name, variant=variant, launches=[facts], partial=partial)


def printed(document: dict, wanted: PrintOptions = terminal.SCREEN, out: io.StringIO | None = None) -> list[str]:
    out = out or io.StringIO()
    terminal.show(document, out, wanted)
    return without_styles(out.getvalue()).splitlines()


def row(lines: Sequence[str], label: str) -> str:
    (found,) = (line for line in lines if line.startswith(label.ljust(23)))
    return found[23:]


def test_the_screen_of_one_run() -> None:
    lines = printed(result_of(changed(QUIET, {"hotspots": None, "stalls.memory_dependency": 1100})))
    assert lines[0] == "k: 4,096 work-items in workgroups of 64 on small (4 CUs, 1 GHz)"
    assert row(lines, "cycles") == "100,000 cycles"
    assert row(lines, "time") == "100.0 us, host 105.0 us"
    assert row(lines, "issued") == "2 instructions/cycle, in 50.0 % of the CUs' cycles"
    assert row(lines, "  vector ALUs") == "█" * 24 + "░" * 16 + "  60.0 %"
    assert row(lines, "  no unit: waiting") == "█" * 12 + "░" * 28 + "  30.0 %", "latency, beside units"
    assert row(lines, "  memory dependency") == "█" * 22 + "░" * 18 + "  55.0 %"
    assert row(lines, "  others") == "██" + "░" * 38 + "   5.0 %"
    assert row(lines, "  L1, L2 hit rate") == "80.0 %, 90.0 %"
    assert row(lines, "  L1, L2, DRAM latency") == "120, 80, 90 cycles"
    assert row(lines, "  DRAM traffic") == "11.0 GB/s, 10.0 % busy"
    assert row(lines, "  requests") == "prefetch buffer hits 50 %, accurate 40 %, prudent 10 %"
    assert row(lines, "  unused lines") == "1.0 % of 1,000 lines read"
    assert row(lines, "memory energy") == "100.0 uJ, DRAM 60.0 %"
    assert row(lines, "verified") == "passed, error 1e-07 ≤ 1e-05"
    look = lines[lines.index("look at") + 1 :]
    assert look[0].startswith("  ! up to 1.62 ×: wavefronts wait at s_waitcnt for memory or LDS in 55.0 % of")
    assert lines[-1].startswith("more: --details")
    assert len(lines) <= 33


def test_the_reasons_on_the_screen_tile_the_wavefronts_cycles() -> None:
    lines = printed(result_of(QUIET))
    start = next(n for n, line in enumerate(lines) if line.startswith("wavefronts' cycles"))
    shares = [float(re.findall(r"([\d.]+) %", line)[0]) for line in lines[start + 1 : start + 6]]
    assert sum(shares) == pytest.approx(100, abs=0.3)


def test_many_small_reasons_are_one_that_is_shown() -> None:
    small = dict.fromkeys(STALL_REASONS, 4) | {"issued": 968}
    lines = printed(result_of({**PLAIN, "stalls": small}))
    assert row(lines, "  issued").endswith(" 96.4 %") and row(lines, "  others").endswith(" 3.6 %")


def test_a_little_is_seen_in_a_bar() -> None:
    assert [bar(share, 4) for share in (0, 0.001, 0.5, 1, 1.2)] == ["░░░░", "█░░░", "██░░", "████", "████"]


def test_two_runs_stand_side_by_side_with_their_speed_up() -> None:
    lines = printed(result_of(PLAIN, FASTER))
    assert lines[1].split() == ["dense", "sparse"]
    assert row(lines, "speed-up").split() == ["1.00", "×", "2.00", "×"]
    assert [line for line in lines if len(line) > 80] == []


def test_of_a_partial_run_no_speed_up_is_told() -> None:
    lines = printed(result_of(PLAIN, FASTER, partial=True, stopped_by="cycle limit"))
    assert "PARTIAL, cycle limit: all figures are of what was simulated by then" in lines
    assert row(lines, "speed-up").split() == ["–", "–"]


def test_a_wrong_result_is_said_first() -> None:
    lines = printed(result_of(changed(QUIET, {"verification.passed": False, "verification.max_error": 0.5})))
    assert row(lines, "verified") == "WRONG, error 0.5 > 1e-05"
    assert lines[lines.index("look at") + 1].startswith("  ! the result is WRONG: error 0.5, allowed is 1e-05")


def test_sampled_values_have_their_half_width() -> None:
    tree = changed(
        QUIET, {"kernel.cycles_half_width": 1500.2, "l2.hit_rate_half_width": 0.0, "l1.hit_rate_half_width": 0.02}
    )
    sampling = {
        "fraction": 0.125, "rounds": 3.0, "method": "workgroups", "reason": "they are alike", "speed_up": 8.0,
        "confidence": 0.95,
    }  # fmt: skip
    lines = printed(result_of({**tree, "sampling": sampling}))
    said = " ".join(" ".join(lines[1:3]).split())
    assert said.startswith("sampled by workgroups: 12.5 % of the instructions simulated, 8 times fewer; 3 waves;")
    of_places = printed(result_of({**tree, "sampling": {**sampling, "places": 24, "seen": 0.98}}))
    said = " ".join(" ".join(of_places[1:4]).split())
    assert "3 waves; 24 places looked at, 98 % of the work in strata seen at two or more; half-widths" in said
    assert row(lines, "cycles") == "100,000 ± 1,500 cycles"
    assert row(lines, "  L1, L2 hit rate") == "80.0 % ± 2.0 %, 90.0 %"
    whole = printed(result_of({**tree, "sampling": sampling}), ALL)
    (line,) = (line for line in whole if line.startswith("  kernel.cycles "))
    assert line.split() == ["kernel.cycles", "100,000", "±", "1,500", "cycles"]
    of_all = {**sampling, "method": "whole", "fraction": 1.0, "reason": "too few workgroups"}
    lines = printed(result_of({**tree, "sampling": of_all, "simulator": {"cpu_s": 90.0}}))
    said = " ".join(" ".join(lines[1:4]).split())
    assert said.startswith(
        "simulated whole in 1 min 30 s of processor time, no value is an estimate: too few workgroups"
    )
    assert not any("half_width" in line for line in whole)


def test_an_untimed_run_has_a_screen() -> None:
    kernel = {"name": "k", "cycles": None, "wavefront_instructions": 1234}
    lines = printed(result_of({**dict.fromkeys(QUIET), "kernel": kernel}))
    assert row(lines, "executed") == "1,234 instructions"
    assert row(lines, "time") == "not modelled"
    assert not any("%" in line or "cycles" in line for line in lines)


def test_every_metric_has_one_section() -> None:
    held = [path for section in SECTIONS for path in list_section_paths(section)]
    assert sorted(held) == sorted(metric.path for metric in METRICS)


def test_every_pattern_of_a_section_names_a_metric() -> None:
    unused = []
    for section in SECTIONS:
        for pattern in section.metrics:
            before, _, after = pattern.partition("*")
            if not any(path.startswith(before) and path.endswith(after) for path in list_section_paths(section)):
                unused.append(pattern)
    assert unused == []


def test_details_have_a_line_for_each_metric_of_the_run_with_its_unit() -> None:
    lines = printed(of_records(everything(999_999)), ALL)
    unknown = {"data.zero_fraction", "data.zero_line_fraction", "data.column_blocks", "simulator.peak_memory_mb"}
    unknown |= {"host.copies_us", "host.launching_us"}  # what has no queue of commands
    unknown |= {"layer.product_compute_efficiency"}  # what takes no layer of a network
    for metric in METRICS:
        rows = [line for line in lines if line.startswith(f"  {metric.path} ")]
        assert len(rows) == (metric.path not in unknown), metric.path
        assert all(line.endswith(metric.unit if metric.unit != "fraction" else "%") for line in rows)
    titles = [section.title for section in SECTIONS if section.key != "series"]  # which a run has with --every
    shown = [title for line in lines for title in titles if line.startswith(f"{title} (")]
    assert shown == titles


def test_a_section_alone_is_printed_without_the_screen() -> None:
    lines = printed(result_of(QUIET), PrintOptions(["occupancy"]))
    assert lines[0].startswith("Occupancy (occupancy): ")
    assert not any(line.startswith(("  l1.", "verified")) for line in lines)
    both = printed(result_of(QUIET), PrintOptions(["stalls", "launch"]))
    heads = [line.partition(" (")[0] for line in both if not line.startswith(" ") and line]
    assert heads == ["Launch Statistics", "Wavefront State Statistics"]


def test_an_unknown_section_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match="--section: unknown section 'memry'; did you mean 'memory'"):
        PrintOptions(["memry"]).chosen()


def test_a_rule_is_printed_in_its_section_with_what_to_do() -> None:
    lines = printed(result_of(changed(QUIET, {"stalls.synchronization": 970})), PrintOptions(["stalls"]))
    number = next(n for n, line in enumerate(lines) if "wavefronts wait at barriers" in line)
    assert lines[number + 1].startswith("    > less work between barriers")


def test_two_runs_have_their_ratio_in_the_sections() -> None:
    lines = printed(of_records(record(1000, variant="dense"), record(500, variant="sparse")), ALL)
    (line,) = (line for line in lines if line.startswith("  kernel.cycles "))
    assert line.split() == ["kernel.cycles", "1,000", "500", "0.500", "×", "cycles"]


def test_each_launch_of_several_has_its_line() -> None:
    run = record(1000)
    run.launches += record(3000).launches
    lines = printed(of_records(run), PrintOptions(["launch"]))
    start = lines.index("  sgemm + sgemm, engine off: launches, their cycles, share of all")
    assert [line.split() for line in lines[start + 1 : start + 3]] == [
        ["1", "1,000", "cycles", "25.0", "%", "sgemm"],
        ["2", "3,000", "cycles", "75.0", "%", "sgemm"],
    ]


def test_a_stopped_run_ends_with_where_its_wavefronts_stood() -> None:
    run = record(1000, partial=True)
    run.launches += record(40_000, partial=True, name="k").launches
    run.launches[-1].resident = [WavefrontGroup(n, 4 * n, "s_nop 0", "ready to issue", LINE) for n in range(30, 10, -1)]
    lines = printed(of_records(run))
    start = lines.index("  k: stopped in cycle 40,000, 3 of 1,200 workgroups had ended; resident:")
    assert lines[start + 1] == "    30 wavefronts at 0x78 s_nop 0 [k.cl:12]: ready to issue"
    assert len(lines) - start == 10  # short enough for a screen, whatever the number of groups


def test_mangled_names_are_shown_as_they_are_written() -> None:
    run = record(1000, partial=True, name=MANGLED)
    run.launches[-1].resident = [WavefrontGroup(3, 4, "s_nop 0", "ready to issue", LINE)]
    run.launches[-1].hotspots = [Hotspot(MANGLED, 8, "s_barrier", {"issued": 8}, LINE)]
    text = "\n".join(printed(of_records(run), ALL))
    assert "_Z" not in text
    for start in (
        "kernel                 softmax",
        "  softmax<float, 256u>: stopped in",
        "  softmax<float, 256u>: wavef",
    ):
        assert start in text


def test_hotspots_that_were_asked_for_are_listed_with_their_lines() -> None:
    run = record(1000)
    run.launches[0].hotspots = [Hotspot("k", 8, "s_barrier", {"issued": 18}, LINE)]
    line = printed(of_records(run))[-1]
    assert "s_barrier [k.cl:12]  issued 100 %" in line
    assert " 22.5 % " in line, "of all 80 wavefront-cycles"


@pytest.mark.parametrize("variants", [("sparse",), ("dense", "sparse"), ("dense", "sparse", "third")])
@pytest.mark.parametrize("wanted", [terminal.SCREEN, ALL])
def test_a_terminal_of_80_columns_holds_everything(
    variants: tuple[str, ...], wanted: PrintOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    terminal.show(of_records(*(everything(999_999_999_999, name) for name in variants)), out, wanted)
    assert too_wide(out) == []
    assert "1,999,999,999,998" in out.getvalue(), "the cycles of both launches"


def test_a_narrow_terminal_has_no_bars_that_all_look_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = Terminal()
    terminal.show(result_of(QUIET), out)
    assert row(without_styles(out.getvalue()).splitlines(), "  vector ALUs").split() == ["60.0", "%"]
    assert too_wide(out) == []


def test_a_pipe_has_neither_colours_nor_wide_screens() -> None:
    out = io.StringIO()
    terminal.show(of_records(everything(999_999_999_999, "dense"), everything(7)), out)
    screen = out.getvalue().partition("\n\n")[0]
    assert "\x1b" not in screen
    assert [line for line in screen.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("environment", "colours"),
    [({"TERM": "xterm-256color"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_are_where_a_terminal_has_them(
    environment: dict[str, str], colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    out = Terminal()
    terminal.show(result_of(QUIET), out)
    assert bool(re.search(r"\x1b\[3\dm", out.getvalue())) is colours


def test_a_poor_terminal_gets_ascii(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    document = result_of(changed(QUIET, {"kernel.cycles_half_width": 1500.0}), FASTER)
    monkeypatch.setenv("TERM", "dumb")
    out = Terminal()
    terminal.show(document, out, ALL)
    assert out.getvalue().isascii() and "#####" in out.getvalue()
    with (tmp_path / "pipe").open("w", encoding="ascii") as pipe:
        terminal.show(document, pipe)
    assert "2.00 x" in (tmp_path / "pipe").read_text()


VARIANT = {"config": {}, "schema_version": 3, "partial": False, "kernel": {"cycles": 1}}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([1, 2], "f.json: is not a result that gpusim run, exec or net has written"),
        ({"kernel": {}}, "is not a result"),
        ({"config": {}, "schema_version": 2}, "f.json: has schema_version 2; this version of gpusim reads 3 alone"),
        ({"config": {}, "schema_version": 4}, "has schema_version 4; this version of gpusim reads 3 alone"),
        ({"config": {}, "schema_version": "3"}, "has schema_version '3'; this version of gpusim reads 3 alone"),
        ({"config": {}}, "has schema_version None; this version of gpusim reads 3 alone"),
        ({"config": {"gpu": {}}, "schema_version": 3, "kernel": {}}, "f.json: partial: is required but missing"),
        ({"config": 5, "schema_version": 3, "partial": False}, "f.json: config: 5 is not allowed: must be a mapping"),
        (
            {**network_of(conv1=QUIET), "rows": [{"name": "conv1", "pass": "forward"}]},
            "rows.0.launches: is required but missing",
        ),
        (VARIANT | {"stalls": [1, 2]}, "f.json: stalls: [1, 2] is not allowed: must be a mapping"),
        (VARIANT | {"kernel": {"cycles": "many"}}, "f.json: kernel.cycles"),
        (VARIANT | {"kernel": {"cycles": -1}}, "f.json: kernel.cycles"),
        (VARIANT | {"kernel": {"cycles": float("nan")}}, "f.json: kernel.cycles: NaN and infinities are not allowed"),
        (VARIANT | {"hotspots": [{"kernel": "k"}]}, "f.json: hotspots.0.address: is required but missing"),
    ],
)
def test_what_is_no_result_is_refused(document: object, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        read(document, "f.json")

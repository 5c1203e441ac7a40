"""Do the tables of a network's or a program's rows say where the time goes, each figure under its head?"""

import io
from typing import Any

import pytest

from gpusim.base.table import Table, value_of
from gpusim.jobs.networks.result_views import DEAREST
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.results.metrics import SCHEMA_VERSION
from gpusim.results.report import many, terminal
from gpusim.results.report.result import Result, read
from gpusim.results.report.rows import views_of
from gpusim.results.report.words import LEGEND, PASSES, REASONS
from tests.support.results import CONFIG, QUIET, changed
from tests.support.streams import Terminal, without_styles
from workloads.networks.kind import Pass

METRICS = {
    "kernel": {"ipc": 1.25, "name": "k"},
    "l1": {"hit_rate": 0.875},
    "l2": {"hit_rate": None},
    "dram": {"bytes": 1_234_560_000},
}


def row(name: str = "conv1", what: str = "backward_data", time_us: float | None = 1234.56, **values: Any) -> dict:
    """A layer's pass of a network of which all rows take 6172.8 us, at 1 GHz."""
    known: dict[str, Any] = {"cycles": None}
    if time_us is not None:
        known = {
            "cycles": round(1000 * time_us), "time_us": time_us, "share": time_us / 6172.8,
            "bound": {"name": "dram", "utilization": 0.5}, "stalls": {"memory_dependency": 0.6, "idle": 0.3},
            "metrics": METRICS,
        }  # fmt: skip
    return {
        "name": name, "pass": what, "kind": "convolution", "operator": "im2col (gemm)", "launches": 7,
        "simulated_launches": 2, "macs": 1_000_000, "needed_macs": 500_000, "verification": {"passed": False},
        **known, **values,
    }  # fmt: skip


def body(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A variant with these rows, whose metrics are the sums of their times."""
    whole = sum(one.get("time_us") or 0.0 for one in rows)
    tree = changed(QUIET, {"kernel.time_us": whole, "kernel.cycles": round(1000 * whole), "host.time_us": 1.25 * whole})
    total = {"launches": 7 * len(rows), "simulated_launches": 2 * len(rows)}
    return {**tree, "total": total, "rows": list(rows), **changes}


def network(*rows: dict[str, Any], **more: Any) -> Result:
    head = {"schema_version": SCHEMA_VERSION, "kind": "net", "network": "n", "phase": "train", "batch": 1,
            "values": "real", "partial": False, "config": {"gpu": CONFIG["gpu"]}, **more}  # fmt: skip
    return read({**head, **body(*rows)} if rows else head)


def texts(table: Table) -> list[list[str]]:
    return [line.split("\t") for line in table.tabbed(heads=False).splitlines()[: len(table.rows)]]


def shown(held: dict[str, Any], columns: int | None = None) -> dict[str, str]:
    """Heads and texts of the only row; columns: on a terminal that wide."""
    table = views_of(network(held)).rows_table()
    narrow = columns is not None
    return dict(zip(table._heads(narrow), table._texts(table.rows[0], narrow), strict=True))


def test_wide() -> None:
    assert shown(row()) == {
        **{"layer": "conv1", "pass": "back data", "time us": "1,234.6", "share": "20.0%", "IPC": "1.2"},
        **{"bound": "dram 50%", "stalls": "memory 60%, idle 30%", "L1": "88%", "L2": "–", "DRAM MB": "1,234.6"},
        **{"launches": "7 (2)", "verified": "WRONG"},
    }


def test_narrow() -> None:
    assert shown(row(), 80) == {
        **{"layer": "conv1", "pass": "bwd d", "us": "1,235", "%": "20", "IPC": "1.2", "bound %": "dram 50"},
        **{"stalls %": "mem 60 idl 30", "L1%": "88", "L2%": "–", "MB": "1,235", "run": "7,2", "ok": "NO"},
    }


@pytest.mark.parametrize("columns", [None, 80])
def test_nothing_is_said_of_launches_that_are_not_finished(columns: int | None) -> None:
    found = list(shown(row(time_us=None), columns).values())
    assert found[:2] == ["conv1", PASSES["backward_data"][columns is not None]]
    assert set(found[2:10]) <= {"–", ""} and "" not in found[10:]


@pytest.mark.parametrize(("passed", "words"), [(None, ("–", "–")), (True, ("yes", "yes")), (False, ("WRONG", "NO"))])
def test_what_was_not_compared_is_not_said_to_be_right(passed: bool | None, words: tuple[str, str]) -> None:
    held = row(verification={"passed": passed})
    assert tuple(list(shown(held, columns).values())[-1] for columns in (None, 80)) == words


def test_all_launches_simulated_are_one_number_and_no_cycles_no_share() -> None:
    bound = {"name": "dram", "utilization": 0.0}
    found = shown(row(simulated_launches=7, time_us=0.0, share=None, bound=bound))
    assert (found["launches"], found["share"], found["bound"]) == ("7", "–", "dram 0%")


def test_every_pass_and_every_reason_has_its_words() -> None:
    assert set(PASSES) == set(map(str, Pass))
    assert set(REASONS) == set(STALL_REASONS) - {"issued"}
    assert all(short in LEGEND for _, short in REASONS.values())
    heads = [column.short or column.head for column in views_of(network(row())).rows_table().columns]
    assert len(set(heads)) == len(heads)


@pytest.mark.parametrize(("columns", "narrow"), [(80, True), (200, False)])
def test_short_words_are_explained_where_they_stand(
    columns: int, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = Terminal()
    terminal.show(network(row("a_layer_of_a_long_name"), row("b", "forward")).document, out)
    text = " ".join(without_styles(out.getvalue()).split())
    assert (LEGEND in text) is narrow and (" mem 60 idl 30 " in text) is narrow
    assert [line for line in without_styles(out.getvalue()).splitlines() if len(line) > columns] == []


TRAINED = (
    row("conv1", "forward", 1000.0),
    row("fc", "forward", 500.0, kind="fully_connected"),
    row("softmax", "loss", 100.0, kind="softmax"),
    row("fc", "backward_weights", 900.0, kind="fully_connected"),
    row("conv1", "backward_data", 3000.0),
    row("conv1", "gradient_sum", 100.0),
    row("conv1", "update", 400.0),
)


def test_time_is_summed_by_pass_and_by_kind_the_longest_first() -> None:
    by_pass, by_kind = views_of(network(*TRAINED)).summaries()
    assert texts(by_pass) == [
        ["backward", "4,000.0", "66.7%", "21"], ["forward", "1,600.0", "26.7%", "21"], ["update", "400.0", "6.7%", "7"],
    ]  # fmt: skip
    assert texts(by_kind) == [
        ["convolution", "4,500.0", "75.0%", "28"],
        ["fully connected", "1,400.0", "23.3%", "14"],
        ["softmax", "100.0", "1.7%", "7"],
    ]
    for table in (by_pass, by_kind):
        assert sum(value_of(one[1]) for one in table.rows) == 6000.0
        assert sum(value_of(one[2]) for one in table.rows) == pytest.approx(1)


def test_rows_that_are_not_finished_are_in_no_sum() -> None:
    by_pass, _ = views_of(network(TRAINED[0], row("late", "forward", None))).summaries()
    assert texts(by_pass) == [["forward", "1,000.0", "100.0%", "7"]]
    assert views_of(network(row("late", "forward", None))).summaries() == []


def test_the_dearest_rows_are_listed_where_there_are_more() -> None:
    many = [row(f"l{n}", "forward", float(n + 1)) for n in range(DEAREST + 5)]
    assert len(views_of(network(*many[:DEAREST])).summaries()) == 2
    *_, dearest = views_of(network(*many)).summaries()
    assert [one[0] for one in texts(dearest)] == [f"l{n} forward" for n in range(DEAREST + 4, 4, -1)]
    assert texts(dearest)[0][1:] == ["15.0", "0.2%", "DRAM 50%", "memory dependency 60.0%"]
    assert dearest.title == "the 10 dearest rows of 15"


def test_closing_lines_are_of_the_whole_run() -> None:
    lines = views_of(network(*TRAINED, remarks=["a remark"])).closing()
    macs = 2e-3 * 7e6 / 6000
    assert lines == [
        f"total: 6,000.0 us in 6,000,000 cycles; {macs:,.0f} GFLOP/s in multiply-accumulates"
        f" ({macs / 2:,.0f} in those that are needed)",
        "on the host 7,500.0 us, of which launching takes 1,500.0 us (20.0%)",
        "launches: 49, of which 14 were simulated; equal ones, here or before, count as the first",
        "real values; WRONG: conv1 forward, fc forward, softmax loss, fc back weights, conv1 back data,"
        " conv1 gradient sum, conv1 update",
        "a remark",
    ]


def test_rates_are_of_what_was_computed_in_the_time() -> None:
    (line, *_) = views_of(network(row(time_us=1.0))).closing()
    assert "; 2,000 GFLOP/s in multiply-accumulates (1,000 in those that are needed)" in line


def test_closing_lines_of_a_sampled_and_of_a_stopped_run() -> None:
    held = network(row("a", "forward", 1000.0, verification={"passed": True}), row("b", "forward", None))
    sampling = {"fraction": 0.125, "rounds": 3.0, "method": "workgroups", "reason": "r", "speed_up": 8.0,
                "confidence": 0.95, "instructions": 4e9,
                "left_out": {"equal": 3e9, "windows": 4e8, "iterations": 1e8}}  # fmt: skip
    document = changed(held.document, {"kernel.time_us_half_width": 25.0})
    lines = views_of(read({**document, "sampling": sampling, "partial": True, "stopped_by": "out of time"})).closing()
    assert (
        "sampled: 12.5 % of the instructions simulated, 8 times fewer; total ± 25.0 us (2.5 %) at 95 % confidence"
    ) in lines
    assert (
        "of 4,000 M instructions 3,000 M by equal launches, 400 M by whole workgroups, 100 M by iterations within"
        " workgroups; 500 M simulated"
    ) in lines
    of_all = {**sampling, "method": "whole", "left_out": {"equal": 3.5e9}}
    lines_of_all = views_of(read({**document, "sampling": of_all})).closing()
    assert (
        "no value is an estimate: every launch, or one equal to it, was simulated whole; 12.5 % of the instructions"
        " simulated, 8 times fewer"
    ) in lines_of_all
    assert "real values; WRONG: b forward" in lines and "out of time: 1 of 2 rows are not finished" in lines
    assert any("real values; 1 of 1 rows compared with NumPy, all as expected" in line
               for line in views_of(network(row(verification={"passed": True}))).closing())  # fmt: skip
    none = views_of(network(row(verification={"passed": None}), values="synthetic")).closing()
    assert "made-up values; no result is compared" in none


def test_why_a_layer_stays_dense_is_said_once_for_all() -> None:
    rows = [row("a", "forward", why_dense="too few"), row("b", "forward", why_dense="too few"), row("c", "forward")]
    (line,) = (line for line in views_of(network(*rows)).closing() if line.startswith("dense, "))
    assert line == "dense, too few: a forward, b forward"


def both() -> Result:
    dense = body(row("a", "forward", 600.0, operator="conv (implicit)"), row("b", "forward", 400.0))
    engine = {"requests": 1000, "lines_fetched": 200, "lines_wasted": 50, "compacted_fetched": 100}
    zeros = {"fraction": 0.25, "of_terms": 0.5}
    skipping = row("a", "forward", 200.0, zeros=zeros, metrics={**METRICS, "engine": engine})
    head = {name: held for name, held in network(row()).document.items() if name not in (*QUIET, "rows", "total")}
    return read({**head, "dense": dense, "sparse": body(skipping, row("b", "forward", 300.0)), "normalized": {}})


def test_layers_that_skip_zeros_stand_beside_the_dense_ones() -> None:
    (table,) = views_of(both()).further_tables()
    heads = ["layer", "zeros", "padded", "us", "dense us", "speed-up", "dense by", "requests", "lines", "wasted"]
    assert [column.head for column in table.columns] == heads
    assert texts(table) == [["a", "25.0%", "50.0%", "200", "600", "3.00x", "implicit", "1k", "300", "25%"]]
    assert table.notes[-1] == "all rows: 2.000x"
    assert views_of(network(*TRAINED)).further_tables() == []
    assert [one[0] for one in texts(views_of(both()).rows_table())] == ["a", "b"], "of the variant that ran last alone"


def test_how_algorithms_were_chosen_is_said_row_by_row() -> None:
    choice = {"kernel": "implicit", "cycles": {"implicit": 100, "im2col": 150}, "at_least": {"direct": 300}}
    head, line = views_of(network(row("a", "forward", choice=choice), row("b", "forward"))).remarks()
    assert head.startswith("convolution by the fastest algorithm")
    assert line == "a forward: implicit by measurement; im2col 1.50 ×, direct at least 3.00 ×"
    assert views_of(network(*TRAINED)).remarks() == []


def program(*rows: dict[str, Any], **more: Any) -> Result:
    kernels = [
        {"launches": 4, "timed": 2, "wavefront_instructions": 1000, "verification": {"passed": None}, **one}
        for one in rows
    ]
    config = {"gpu": CONFIG["gpu"], "program": ["./p"]}
    head = {"schema_version": SCHEMA_VERSION, "kind": "hip", "partial": False, "exit_code": 0, "config": config}
    return read({**head, **QUIET, "total": {}, "rows": kernels, **more})


TIMED = {"cycles": 1000, "cycles_half_width": 12.4, "time_us": 1.0, "time_us_half_width": 0.0124, "share": 0.75,
         "bound": {"name": "valu", "utilization": 0.5}}  # fmt: skip
STREAM = {"stream": "0", "kernels": 2, "kernel_us": 30.0, "copies": 1, "copied_bytes": 2_500_000, "copy_us": 10.0,
          "ended_us": 50.0}  # fmt: skip


def test_a_programs_kernels_have_their_launches_and_its_streams_what_they_did() -> None:
    result = program({"name": "_Z3sumPKdPdi", **TIMED}, {"name": "k", "timed": 0, "cycles": None},
                     streams=[STREAM, {**STREAM, "stream": "1", "ended_us": 80.0, "copies": 0}])  # fmt: skip
    assert texts(views_of(result).rows_table()) == [
        ["4 (2 timed)", "1,000 ± 12", "1.0 ± 1.2%", "75.0%", "vector ALUs 50%", "1,000", "sum"],
        ["4", "–", "–", "–", "–", "1,000", "k"],
    ]
    (streams,) = views_of(result).summaries()
    assert streams.title == "by stream, of 80.0 us"
    assert texts(streams) == [
        ["0", "2", "30.0", "1", "2.50", "10.0", "50.0%"], ["1", "2", "30.0", "0", "2.50", "10.0", "50.0%"],
    ]  # fmt: skip
    assert views_of(program({"name": "k", **TIMED})).summaries() == []


def test_a_program_says_how_it_was_sampled_and_that_it_was_stopped() -> None:
    sampling = {"fraction": 0.125, "speed_up": 8.0, "method": "m", "rounds": 1.0, "reason": "r", "confidence": 0.95}
    stopped = program({"name": "k", **TIMED}, sampling=sampling, partial=True, stopped_by="cycle limit")
    assert views_of(stopped).closing() == [
        "PARTIAL, cycle limit: all figures are of what was simulated by then",
        "sampled: 12.5% of the timed instructions simulated; half-widths (±) at 95 %",
    ]
    out = io.StringIO()
    terminal.show(stopped.document, out)
    assert "PARTIAL, cycle limit" in out.getvalue() and "half-widths (±) at 95 %" in out.getvalue()


def test_a_program_without_launches_says_so() -> None:
    out = io.StringIO()
    terminal.show(program().document, out)
    assert out.getvalue() == "no kernel was launched\n"


def test_markdown_has_where_the_time_goes_before_the_rows() -> None:
    text = many.as_markdown(network(*TRAINED).document)
    order = [text.index(title) for title in ("time by pass", "time by kind of layer", "| layer | pass |")]
    assert order == sorted(order)
    assert "- total: 6,000.0 us" in text

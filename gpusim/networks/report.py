"""The result of a network's iteration: one table for people, lines with tabs on a pipe, the parts of a JSON object."""

from typing import Any, TextIO

from gpusim.config.network_run import NetworkSettings
from gpusim.config.workload import EngineMode
from gpusim.core.facts import RunFacts
from gpusim.networks.columns import COLUMNS, LEGEND, PASSES, cells, heads
from gpusim.networks.rows import Row, Rows, bound_of, largest_stalls
from gpusim.networks.run import NetworkRecord
from gpusim.results.record import VerificationFacts

SCHEMA_VERSION = 1
MEANINGS = {
    "cycles": "of the row's launches, summed; each from the first workgroup's dispatch to the last wavefront's end",
    "time_us": "cycles / clock",
    "cycles_half_width": "of their confidence interval, where launches were sampled; the same of the time",
    "sampling": "how launches were sampled (docs/sampling.md); launches that are equal are simulated once",
    "share": "of the cycles of all rows",
    "launches": "kernel launches",
    "simulated_launches": "those that were simulated for this row; the others equal one that was, here or before, in "
    "code, geometry, arguments and class of data, and count as it does; fewer where the run was stopped before",
    "macs": "multiply-accumulates of the definition",
    "needed_macs": "those that the kernels cannot leave out: without the padding's, and as few as an algorithm needs",
    "operations": "its other arithmetic",
    "minimum_bytes": "operands and results, each once",
    "ipc": "wavefront instructions a cycle, of the whole GPU",
    "bound": "the nearest roofline (metrics' group roofline), and its cycles / cycles",
    "stalls": "the two largest reasons, with their share of the resident wavefront-cycles",
    "dram_bytes": "moved, both ways",
    "verification": "passed: whether every result is within its bound of NumPy's in FP64; null: not compared",
    "zeros": "of the operands whose zeros the kernels skip: fraction of their values, and of the products with them "
    "(of_terms), where the padding's zeros count too",
    "why_dense": "why a convolution skips no zeros though the engine is on",
    "speed_up": "cycles of the fastest dense algorithm / those of the sparse one, im2col and transpositions included; "
    "of the total: of the two variants",
    "metrics": "all metrics of the row's launches, as in docs/metrics.md",
    "launch_overhead_us": "launches times gpu.kernel_launch_us: what the host's queue adds to time_us",
}
WIDE = 120  # columns of a terminal, from which on nothing is abbreviated


def head(record: NetworkRecord, engine: EngineMode, stopped_by: str) -> dict[str, Any]:
    """What a JSON object says before the results: of one iteration, or of all variants of a mode."""
    return {
        "schema_version": SCHEMA_VERSION,
        "network": record.schedule.network.name,
        "phase": "train" if record.schedule.training else "inference",
        "batch": record.schedule.batch,
        "data": "real" if record.real else "synthetic",
        "engine": engine,
        "partial": bool(stopped_by),
        **({"stopped_by": stopped_by} if stopped_by else {}),
        "meanings": MEANINGS,
        "config": record.settings.resolved(),
        "remarks": list(record.schedule.network.remarks),
    }


def body(record: NetworkRecord) -> dict[str, Any]:
    """The results of one iteration."""
    return body_of(record.rows, record.planned_bytes, record.settings)


def body_of(rows: Rows, planned_bytes: int, settings: NetworkSettings) -> dict[str, Any]:
    """The results of rows. planned_bytes: of device memory."""
    compared = [row.passed for row in rows if row.passed is not None]
    return {
        "layers": [_row_tree(row, rows.facts) for row in rows],
        "total": _total_tree(rows, planned_bytes, settings),
        "verification": {
            "passed": all(compared) if compared else None,
            "compared": len(compared),
            "rows": len(rows),
        },
    }


def zeros_tree(row: Row) -> dict[str, float] | None:
    """How many zeros were skipped of; None where that is not known."""
    return None if row.zeros is None else {"fraction": row.zeros.fraction, "of_terms": row.zeros.of_terms}


def _row_tree(row: Row, whole: RunFacts | None) -> dict[str, Any]:
    tree: dict[str, Any] = {"name": row.layer, "pass": str(row.what), "operator": row.operators}
    works = [work for step in row.steps for work in step.work]
    tree |= {
        "launches": row.launches,
        "simulated_launches": row.simulated,
        "macs": row.macs,
        "needed_macs": row.needed_macs,
        "operations": sum(work.operations for work in works),
        "minimum_bytes": sum(work.read_bytes + work.written_bytes for work in works),
        "verification": _verification(row),
        **_timed_tree(row, whole),
    }
    if row.zeros is not None:
        tree["zeros"] = zeros_tree(row)
    if row.why_dense:
        tree["why_dense"] = row.why_dense
    return tree


def _verification(row: Row) -> dict[str, Any]:
    compared = [step.verification for step in row.steps if step.verification is not None]
    if not compared:
        return {"passed": None}
    worst: VerificationFacts = max(compared, key=lambda v: (not v.passed, v.max_error / v.bound if v.bound else 0.0))
    return {"passed": row.passed, "max_error": worst.max_error, "bound": worst.bound}


def _timed_tree(of: Row | Rows, whole: RunFacts | None) -> dict[str, Any]:
    facts, tree = of.facts, of.metrics
    if facts is None or whole is None:
        return {"cycles": None}
    bound, near = bound_of(facts)
    return {
        "cycles": facts.cycles,
        "time_us": facts.time_us,
        **_estimated(facts),
        "share": facts.cycles / whole.cycles if whole.cycles else None,
        "ipc": tree["kernel"]["ipc"],
        "bound": {"name": bound, "utilization": near},
        "stalls": dict(largest_stalls(facts)),
        "l1_hit_rate": tree["l1"]["hit_rate"],
        "l2_hit_rate": tree["l2"]["hit_rate"],
        "dram_bytes": tree["dram"]["bytes"],
        "metrics": tree,
    }


def _estimated(facts: RunFacts) -> dict[str, Any]:
    """How far off the time may be, and how it was sampled; nothing where nothing was."""
    if facts.sampling is None:
        return {}
    width = facts.sampling.half_width("kernel", "cycles")
    return {
        "cycles_half_width": width,
        "time_us_half_width": width / (facts.kernel.clock_ghz * 1e3),
        "sampling": facts.sampling.described(),
    }


def _total_tree(rows: Rows, planned_bytes: int, settings: NetworkSettings) -> dict[str, Any]:
    launches = sum(row.launches for row in rows)
    return {
        "launches": launches,
        "simulated_launches": sum(row.simulated for row in rows),
        "macs": sum(row.macs for row in rows),
        "needed_macs": sum(row.needed_macs for row in rows),
        "planned_bytes": planned_bytes,
        "launch_overhead_us": launches * settings.gpu.kernel_launch_us,
        **_timed_tree(rows, rows.facts),
    }


def show(record: NetworkRecord, out: TextIO) -> None:
    """The table on a terminal, abbreviated where that is narrow; the same rows with tabs on a pipe; then the sums."""
    rows, whole = record.rows, record.rows.facts
    lines = closing(record)
    if not out.isatty():
        for texts in (heads(), *(cells(row, whole) for row in rows)):
            print("\t".join(texts), file=out)
        print("\n".join(lines), file=out)
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(file=out)
    narrow = console.width < WIDE
    table = Table(title=_title(record), title_justify="left", box=None, padding=(0, 1 if narrow else 2, 0, 0))
    for column in COLUMNS:
        table.add_column(column.head[narrow], justify="left" if column.text else "right", overflow="fold")
    for row in rows:
        table.add_row(*cells(row, whole, narrow))
    console.print(table)
    for line in [LEGEND, *lines] if narrow else lines:
        console.print(line, highlight=False, markup=False)


def markdown(record: NetworkRecord) -> str:
    """The table and what follows it, as Markdown."""
    rows, whole = record.rows, record.rows.facts
    lines = [_title(record), "", f"| {' | '.join(heads())} |", f"|{' --- |' * len(heads())}"]
    lines += [f"| {' | '.join(cells(row, whole))} |" for row in rows]
    return "\n".join([*lines, "", *(f"- {line}" for line in closing(record))]) + "\n"


def _title(record: NetworkRecord) -> str:
    schedule = record.schedule
    what = "training" if schedule.training else "inference"
    return f"{schedule.network.name}: {what}, batch {schedule.batch}, {record.settings.gpu.name}"


def _others(record: NetworkRecord) -> str:
    """What became of the launches that were not simulated."""
    classes = [one for step in record.steps for one in step.classes]
    unknown = sum(one not in record.of_class for one in classes)
    equal = "; equal ones, here or before, count as the first"
    return f", {unknown} not yet{equal}" if record.stopped_by and unknown else equal


def closing(record: NetworkRecord) -> list[str]:
    """What holds for the whole network."""
    rows, whole = record.rows, record.rows.facts
    launches, simulated = sum(row.launches for row in rows), sum(row.simulated for row in rows)
    lines = []
    if whole is not None:
        overhead = launches * record.settings.gpu.kernel_launch_us
        bound, near = bound_of(whole)
        timed = [row for row in rows if row.facts is not None]
        counted = (sum(row.macs for row in timed), sum(row.needed_macs for row in timed))
        rate, needed = (2e-3 * macs / whole.time_us if whole.cycles else 0.0 for macs in counted)
        lines.append(
            f"total: {whole.time_us:,.1f} us in {whole.cycles:,} cycles, and {overhead:,.0f} us of launching;"
            f" {rate:,.0f} GFLOP/s in multiply-accumulates ({needed:,.0f} in those that are needed);"
            f" {bound} {100 * near:.0f}%"
        )
    lines.append(f"launches: {launches}, of which {simulated} were simulated{_others(record)}")
    if whole is not None and whole.sampling is not None:
        how = whole.sampling.described()
        width = whole.sampling.half_width("kernel", "cycles")
        lines.append(
            f"sampled: {100 * how['fraction']:.3g} % of the instructions simulated, {how['speed_up']:.3g} times fewer;"
            f" total ± {width / (whole.kernel.clock_ghz * 1e3):,.1f} us ({100 * width / max(whole.cycles, 1):.2g} %) at"
            f" {100 * how['confidence']:g} % confidence"
        )
    compared = [row for row in rows if row.passed is not None]
    data = "real values" if record.real else "made-up values"
    wrong = ", ".join(f"{row.layer} {PASSES[row.what][0]}" for row in compared if not row.passed)
    if wrong:
        lines.append(f"{data}; WRONG: {wrong}")
    elif compared:
        lines.append(f"{data}; {len(compared)} of {len(rows)} rows compared with NumPy, all as expected")
    else:
        lines.append(f"{data}; no result is compared")
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row.why_dense, []).append(f"{row.layer} {PASSES[row.what][0]}")
    lines += [f"dense, {reason}: {', '.join(names)}" for reason, names in reasons.items() if reason]
    if record.stopped_by:
        unfinished = sum(row.facts is None for row in rows)
        lines.append(f"{record.stopped_by}: {unfinished} of {len(rows)} rows are not finished")
    return [*lines, *record.schedule.network.remarks]

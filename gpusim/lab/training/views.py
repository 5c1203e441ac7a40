"""A training for people and for programs: one screen that says what bounds it and what would help, tables, JSON."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TextIO

from gpusim.base.formats import COUNT, GROUPED_0, GROUPED_1, GROUPED_2, GROUPED_3, PERCENT, RATIO, SHARE_1
from gpusim.base.table import Table
from gpusim.base.view import View, column
from gpusim.lab.training.measure import BUFFERS, ScalingRow, TrainingMeasurement
from gpusim.lab.training.stages import CPU, LINKS
from gpusim.results.report.layout import Line, bar, plain, width_of, wrapped, write

BAR = 40
LABEL = 14


def milliseconds(time_us: float) -> str:
    """Write microseconds as milliseconds, with more digits of few."""
    return f"{(GROUPED_3 if time_us < 1e4 else GROUPED_1)(time_us / 1e3)} ms"


def _number(value: float) -> str:
    return (GROUPED_3 if value < 10 else GROUPED_1)(value)


RESOURCES = View([
    column("resource"), column("busy", write=PERCENT), column("idle", write=PERCENT),
    column("iteration_ms", "twice as much: iteration", _number, "ms"), column("gain", write=RATIO),
], "resources")  # fmt: skip
STAGES = View([
    column("stage"), column("resource"), column("work_ms", "works", _number, "ms"),
    column("input_ms", "waits for input", _number, "ms"), column("space_ms", "waits for a buffer", _number, "ms"),
], "stages", "stages, of an iteration")  # fmt: skip
SCALING = View([
    column("gpus", "GPUs"), column("batch", "batch of each", right=True),
    column("iteration_ms", "iteration", _number, "ms"), column("images_per_s", "images/s", GROUPED_0),
    column("efficiency", write=PERCENT, short="eff."), column("all_reduce_ms", "all-reduce", _number, "ms"),
    column("exposed_ms", "exposed", _number, "ms"), column("busiest"), column("busy", write=PERCENT),
])  # fmt: skip


def show(measured: TrainingMeasurement, out: TextIO, markdown: bool = False) -> None:
    """Print the screen, then the tables of scaling; or all tables as Markdown.

    Args:
        measured: The training.
        out: Stream to write to.
        markdown: Write tables as Markdown.
    """
    if markdown:
        out.write("\n".join(table.markdown() for table in tables(measured)))
        return
    write(screen(measured, width_of(out)), out)
    for table in tables(measured)[2:]:
        print(file=out)
        if not out.isatty():  # where a table writes its lines alone
            print(table.title, file=out)
        table.show(out)


def screen(measured: TrainingMeasurement, width: int) -> list[Line]:
    """Return the lines of the screen."""
    spec, pace = measured.training.spec, measured.pace
    gpus = f"{measured.gpus} × {spec.gpu.name}" if measured.gpus > 1 else spec.gpu.name
    lines = [plain(f"{measured.title}: batch {spec.batch} on {gpus}, images from {spec.storage.name}")]
    lines += [_row("bound by", _bound(measured))]
    lines += [_row("iteration", f"{milliseconds(pace.iteration_us)}, {GROUPED_0(measured.images_per_s)} images/s")]
    if measured.closed_us is not None:
        lines += [_row("closed form", f"{milliseconds(measured.closed_us)}: {measured.closed_by}")]
    if measured.gpus > 1:
        lines += [
            _row(
                "all-reduce", f"{milliseconds(pace.communication_us)}, {milliseconds(pace.exposed_us)} of it not hidden"
            )
        ]
    lines += [_row("first batch", f"computed after {milliseconds(measured.fill_us)}")]
    lines += [
        _row(
            "snapshot",
            f"delays training by {milliseconds(pace.snapshot_us)} every {COUNT(spec.snapshot.every)} iterations",
        )
    ]
    lines += wrapped(f"times of layers: {measured.times.source}", width, LABEL + 2)
    lines.append([("busy", "bold"), ("  (share of the time; the rest is idle)", "dim")])
    lines += [_bar(name, share, f"{SHARE_1(share):>7}") for name, share in pace.busy.items()]
    lines.append([("stages", "bold"), ("  (an iteration: works, waits for input, waits for a free buffer)", "dim")])
    for stage in measured.stages:
        times = " ".join(f"{GROUPED_2(time):>10} ms" for time in (stage.work_ms, stage.input_ms, stage.space_ms))
        lines.append(_row(f"  {stage.stage}", f"{times}  {stage.resource}"))
    lines.append([("what would help", "bold"), ("  (twice as much of one)", "dim")])
    for gain in sorted(measured.helps, key=lambda gain: -gain.gain):
        lines.append(_row(f"  {gain.resource}", f"{GROUPED_2(gain.iteration_ms):>10} ms  {RATIO(gain.gain)}"))
    return lines


def _bound(measured: TrainingMeasurement) -> str:
    bound, busy = measured.bound, measured.pace.busy
    if not bound:
        busiest = max(busy, key=lambda name: busy[name])
        used = f"{busiest}: {SHARE_1(busy[busiest])} busy"
        return f"no resource alone: twice as much of any one gives less than 0.5 % ({used})"
    if bound == BUFFERS:
        taking = f" ({measured.closed_by})" if measured.closed_by else ""
        most = SHARE_1(max(busy.values()))
        return f"buffers: stages take turns{taking}; no resource works more than {most} of the time"
    where = f", most of all {' to '.join(measured.pace.busiest_link)}" if bound == LINKS else ""
    if bound == CPU:
        where = f", {measured.pace.line.threads} of {measured.training.spec.cpu_threads} threads prepare images"
    return f"{bound}: {SHARE_1(busy[bound])} busy{where}"


def _row(label: str, text: str) -> Line:
    return [(label.ljust(LABEL), ""), (f" {text}", "")]


def _bar(label: str, share: float, text: str) -> Line:
    return [(f"  {label}".ljust(LABEL), ""), (f" {bar(share, BAR)} {text}", "")]


def tables(measured: TrainingMeasurement) -> list[Table]:
    """Return the tables: resources, stages, and those of weak and of strong scaling where there are several GPUs."""
    pace = measured.pace
    gains = {gain.resource: gain for gain in measured.helps}
    busy: dict[str, float | None] = {**pace.busy, BUFFERS: None}
    rows = [
        {**gains[name]._asdict(), "busy": share, "idle": None if share is None else 1 - share}
        for name, share in busy.items()
    ]
    title = f"{measured.title}: an iteration takes {milliseconds(pace.iteration_us)}"
    return [RESOURCES.table(rows, title), STAGES.table(measured.stages), *_scaling(measured)]


def _scaling(measured: TrainingMeasurement) -> Iterator[Table]:
    topology = measured.training.spec.topology
    for kind in dict.fromkeys(row.kind for row in measured.scaling):
        rows = [row for row in measured.scaling if row.kind == kind]
        base = next((row for row in rows if row.pace is not None), None)
        notes = [f"{row.gpus} GPUs: {row.missing}" for row in rows if row.pace is None]
        shared = "each GPU has the batch" if kind == "weak" else "the batch is divided among the GPUs"
        title = f"{kind} scaling over {topology.name or topology.kind}, {measured.training.spec.all_reduce}: {shared}"
        yield replace(SCALING, name=f"{kind}_scaling").table([_scaled(row, base) for row in rows], title, notes)


def _scaled(row: ScalingRow, base: ScalingRow | None) -> dict[str, Any]:
    """Return a row of scaling, with its efficiency in comparison with the first one that is possible."""
    values = serialize_scaling(row)
    if row.pace is None or base is None:
        return values | {"busy": None}
    busiest = max(row.pace.busy, key=lambda name: values["busy"][name])
    efficiency = row.images_per_s / row.gpus / (base.images_per_s / base.gpus)
    return values | {"efficiency": efficiency, "busiest": busiest, "busy": row.pace.busy[busiest]}


def serialize_scaling(row: ScalingRow) -> dict[str, Any]:
    """Return a row of scaling as plain data; times in milliseconds."""
    pace = row.pace
    return {
        "kind": row.kind,
        "gpus": row.gpus,
        "batch": row.batch,
        "iteration_ms": None if pace is None else pace.iteration_us / 1e3,
        "images_per_s": None if pace is None else row.images_per_s,
        "all_reduce_ms": None if pace is None else pace.communication_us / 1e3,
        "exposed_ms": None if pace is None else pace.exposed_us / 1e3,
        "busy": None if pace is None else pace.busy,
        "missing": row.missing,
    }


def document(measured: TrainingMeasurement) -> dict[str, Any]:
    """Return everything as one JSON object; times in milliseconds."""
    spec, pace, times = measured.training.spec, measured.pace, measured.times
    return {
        "kind": "train-phase",
        "title": measured.title,
        "network": measured.network.name,
        "gpus": measured.gpus,
        "batch": spec.batch,
        "bound_by": measured.bound,
        "iteration_ms": pace.iteration_us / 1e3,
        "images_per_s": measured.images_per_s,
        "closed_form_ms": None if measured.closed_us is None else measured.closed_us / 1e3,
        "closed_form_bound": measured.closed_by,
        "first_batch_ms": measured.fill_us / 1e3,
        "snapshot_delay_ms": pace.snapshot_us / 1e3,
        "all_reduce_ms": pace.communication_us / 1e3,
        "exposed_ms": pace.exposed_us / 1e3,
        "compute_ms": {name: times.ms(name) for name in ("forward", "backward", "update")},
        "times_from": times.source,
        "busy": pace.busy,
        "busiest_link": list(pace.busiest_link),
        "stages": [record._asdict() for record in measured.stages],
        "twice_as_much": [record._asdict() for record in measured.helps],
        "scaling": [serialize_scaling(row) for row in measured.scaling],
        "config": spec.model_dump(mode="json"),
    }

"""A training for people and for programs: one screen that says what bounds it and what would help, tables, JSON."""

from collections.abc import Iterator
from typing import Any, TextIO

from gpusim.base.table import Column, Table
from gpusim.lab.training.measure import BUFFERS, ScalingRow, TrainingMeasurement
from gpusim.lab.training.stages import CPU, LINKS
from gpusim.results.report.layout import Line, bar, plain, width_of, wrapped, write

BAR = 40
LABEL = 14


def show(found: TrainingMeasurement, out: TextIO, markdown: bool = False) -> None:
    """Print the screen, then the tables of scaling; or all tables as Markdown."""
    if markdown:
        out.write("\n".join(table.markdown() for table in tables(found)))
        return
    write(screen(found, width_of(out)), out)
    for table in tables(found)[2:]:
        print(file=out)
        if not out.isatty():  # where a table writes its lines alone
            print(table.title, file=out)
        table.show(out)


def screen(found: TrainingMeasurement, width: int) -> list[Line]:
    """Return the lines of the screen."""
    spec, pace = found.asked.spec, found.pace
    gpus = f"{found.gpus} × {spec.gpu.name}" if found.gpus > 1 else spec.gpu.name
    lines = [plain(f"{_title(found)}: batch {spec.batch} on {gpus}, images from {spec.storage.name}")]
    lines += [_row("bound by", _bound(found))]
    lines += [_row("iteration", f"{_ms(pace.iteration_us)}, {_images(found):,.0f} images/s")]
    if found.closed_us is not None:
        lines += [_row("closed form", f"{_ms(found.closed_us)}: {found.closed_by}")]
    if found.gpus > 1:
        lines += [_row("all-reduce", f"{_ms(pace.communication_us)}, {_ms(pace.exposed_us)} of it not hidden")]
    lines += [_row("first batch", f"computed after {_ms(found.fill_us)}")]
    lines += [_row("snapshot", f"delays training by {_ms(pace.snapshot_us)} every {spec.snapshot.every:,} iterations")]
    lines += wrapped(f"times of layers: {found.times.source}", width, LABEL + 2)
    lines.append([("busy", "bold"), ("  (share of the time; the rest is idle)", "dim")])
    lines += [_bar(name, share, f"{share:7.1%}") for name, share in pace.busy.items()]
    lines.append([("stages", "bold"), ("  (an iteration: works, waits for input, waits for a free buffer)", "dim")])
    lines += [
        _row(
            f"  {one.stage}",
            f"{one.work_ms:10,.2f} ms {one.input_ms:10,.2f} ms {one.room_ms:10,.2f} ms  {one.resource}",
        )
        for one in found.stages
    ]
    lines.append([("what would help", "bold"), ("  (twice as much of one)", "dim")])
    for one in sorted(found.helps, key=lambda one: -one.gain):
        lines.append(_row(f"  {one.resource}", f"{one.iteration_ms:10,.2f} ms  {one.gain:.2f} ×"))
    return lines


def _title(found: TrainingMeasurement) -> str:
    return found.asked.spec.title or found.network.name


def _bound(found: TrainingMeasurement) -> str:
    bound, busy = found.bound, found.pace.busy
    if not bound:
        busiest = max(busy, key=lambda name: busy[name])
        return (
            f"no resource alone: twice as much of any one gives less than 0.5 % ({busiest}: {busy[busiest]:.1%} busy)"
        )
    if bound == BUFFERS:
        taking = f" ({found.closed_by})" if found.closed_by else ""
        return f"buffers: stages take turns{taking}; no resource works more than {max(busy.values()):.1%} of the time"
    where = f", most of all {' to '.join(found.pace.busiest_link)}" if bound == LINKS else ""
    if bound == CPU:
        where = f", {found.pace.line.threads} of {found.asked.spec.cpu_threads} threads prepare images"
    return f"{bound}: {busy[bound]:.1%} busy{where}"


def _images(found: TrainingMeasurement) -> float:
    return found.gpus * found.asked.spec.batch / found.pace.iteration_us * 1e6


def _ms(time_us: float) -> str:
    return f"{time_us / 1e3:,.3f} ms" if time_us < 1e4 else f"{time_us / 1e3:,.1f} ms"


def _row(label: str, text: str) -> Line:
    return [(label.ljust(LABEL), ""), (f" {text}", "")]


def _bar(label: str, share: float, text: str) -> Line:
    return [(f"  {label}".ljust(LABEL), ""), (f" {bar(share, BAR)} {text}", "")]


def tables(found: TrainingMeasurement) -> list[Table]:
    """Return the tables: resources, stages, and those of weak and of strong scaling where there are several GPUs."""
    pace = found.pace
    helps = {one.resource: one for one in found.helps}
    busy: dict[str, float | None] = {**pace.busy, BUFFERS: None}
    rows = [
        (name, share, None if share is None else 1 - share, helps[name].iteration_ms, helps[name].gain)
        for name, share in busy.items()
    ]
    heads = [Column("resource"), Column("busy", _percent), Column("idle", _percent)]
    heads += [Column("twice as much: iteration", _number, unit="ms"), Column("gain", _factor)]
    title = f"{_title(found)}: an iteration takes {_ms(pace.iteration_us)}"
    resources = Table(heads, rows, "resources", title)
    stage_heads = [Column("stage"), Column("resource")]
    stage_heads += [Column(what, _number, unit="ms") for what in ("works", "waits for input", "waits for a buffer")]
    stages = Table(stage_heads, [tuple(one) for one in found.stages], "stages", "stages, of an iteration")
    return [resources, stages, *_scaling(found)]


def _scaling(found: TrainingMeasurement) -> Iterator[Table]:
    heads = [Column("GPUs"), Column("batch of each", right=True), Column("iteration", _number, unit="ms")]
    heads += [
        Column("images/s", _whole),
        Column("efficiency", _percent, short="eff."),
        Column("all-reduce", _number, unit="ms"),
    ]
    heads += [Column("exposed", _number, unit="ms"), Column("busiest"), Column("busy", _percent)]
    for kind in dict.fromkeys(row.kind for row in found.scaling):
        rows = [row for row in found.scaling if row.kind == kind]
        base = next((row for row in rows if row.pace is not None), None)
        notes = [f"{row.gpus} GPUs: {row.missing}" for row in rows if row.pace is None]
        said = f"{found.asked.spec.topology.name or found.asked.spec.topology.kind}, {found.asked.spec.all_reduce}"
        title = f"{kind} scaling over {said}: " + (
            "each GPU has the batch" if kind == "weak" else "the batch is divided among the GPUs"
        )
        yield Table(heads, [_scaled(row, base) for row in rows], f"{kind}_scaling", title, notes)


def _scaled(row: ScalingRow, base: ScalingRow | None) -> tuple[Any, ...]:
    if row.pace is None or base is None or base.pace is None:
        return (row.gpus, row.batch, *[None] * 7)
    pace, busy = row.pace, row.pace.busy
    name = max(busy, key=lambda name: busy[name])
    efficiency = row.images_per_s / row.gpus / (base.images_per_s / base.gpus)
    times = pace.communication_us / 1e3, pace.exposed_us / 1e3
    return (row.gpus, row.batch, pace.iteration_us / 1e3, row.images_per_s, efficiency, *times, name, busy[name])


def document(found: TrainingMeasurement) -> dict[str, Any]:
    """Return everything as one JSON object; times in milliseconds."""
    spec, pace, times = found.asked.spec, found.pace, found.times
    return {
        "kind": "train-phase",
        "title": _title(found),
        "network": found.network.name,
        "gpus": found.gpus,
        "batch": spec.batch,
        "bound_by": found.bound,
        "iteration_ms": pace.iteration_us / 1e3,
        "images_per_s": _images(found),
        "closed_form_ms": None if found.closed_us is None else found.closed_us / 1e3,
        "closed_form_bound": found.closed_by,
        "first_batch_ms": found.fill_us / 1e3,
        "snapshot_delay_ms": pace.snapshot_us / 1e3,
        "all_reduce_ms": pace.communication_us / 1e3,
        "exposed_ms": pace.exposed_us / 1e3,
        "compute_ms": {name: times.ms(name) for name in ("forward", "backward", "update")},
        "times_from": times.source,
        "busy": pace.busy,
        "busiest_link": list(pace.busiest_link),
        "stages": [one._asdict() for one in found.stages],
        "twice_as_much": [one._asdict() for one in found.helps],
        "scaling": [
            {
                "kind": row.kind,
                "gpus": row.gpus,
                "batch": row.batch,
                "iteration_ms": None if row.pace is None else row.pace.iteration_us / 1e3,
                "images_per_s": None if row.pace is None else row.images_per_s,
                "all_reduce_ms": None if row.pace is None else row.pace.communication_us / 1e3,
                "exposed_ms": None if row.pace is None else row.pace.exposed_us / 1e3,
                "busy": None if row.pace is None else row.pace.busy,
                "missing": row.missing,
            }
            for row in found.scaling
        ],
        "config": spec.model_dump(mode="json"),
    }


def _number(value: float) -> str:
    return f"{value:,.3f}" if value < 10 else f"{value:,.1f}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _factor(value: float) -> str:
    return f"{value:.2f} ×"

"""`gpusim monitor`: the sparsity monitor on recorded curves, or on a training whose time it adds to."""

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import interrupt_python
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.base.picture import check_format, require_matplotlib
from gpusim.base.progress import Reporter
from gpusim.base.table import Table
from gpusim.cli.options import JsonOption, MarkdownOption, QuietOption, SetOption

if TYPE_CHECKING:
    from gpusim.config.monitor import MonitorSpec
    from gpusim.config.tree import Sets


PlaceChoice = Literal["host", "device"]


@dataclass(frozen=True)
class MonitorOptions:
    """The monitor's settings, and where the result goes."""

    sets: SetOption = field(default_factory=list)
    json_file: JsonOption = None
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw true and measured sparsity (.svg, .png; Matplotlib)."),
    ] = None
    markdown: MarkdownOption = False
    quiet: QuietOption = False


@dataclass(frozen=True)
class TrainingOptions:
    """A training whose time is measured without monitor, with every iteration measured, and monitored."""

    model: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="MODEL",
            help="Instead of curves: train vggnet11, resnet10, alexnet, vgg16 or resnet18 on random images (needs the "
            "extra 'capture').",
        ),
    ] = None
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", help="With --train: iterations without and with the monitor.")
    ] = 5_000
    exhaustive_iterations: Annotated[
        int,
        typer.Option("--exhaustive-iterations", metavar="N", help="With --train: iterations that measure every map."),
    ] = 500
    batch: Annotated[int, typer.Option("--batch", metavar="N", help="With --train: images in a batch.")] = 128
    place: Annotated[
        PlaceChoice, typer.Option("--count-on", help="With --train: where a measurement counts zeros.")
    ] = "host"
    device: Annotated[str, typer.Option("--device", help="With --train: auto, cpu, cuda, ... as PyTorch names it.")] = (
        "auto"
    )


def monitor(
    options: MonitorOptions,
    training: TrainingOptions,
    curves: Annotated[
        str | None,
        typer.Argument(
            metavar="[CURVES]",
            help="Sparsity over iterations: a file (.csv, .npz), or a shipped one (vggnet11, resnet10, observed, "
            "jumping).",
        ),
    ] = None,
) -> None:
    """Run the sparsity monitor over recorded curves, or beside a training: what is measured when, and how far off."""
    settings = load_settings(options.sets)
    if (curves is None) == (training.model is None):
        raise UserError("one of CURVES and --train must say what is monitored")
    if curves is None:
        if options.picture is not None:
            raise UserError("--picture: belongs to CURVES; of a training the true sparsity is not known")
        check_outputs({"--json": options.json_file})
        _train(settings, options, training)
    else:
        _replay(curves, settings, options)


def load_settings(sets: "Sets") -> "MonitorSpec":
    """Return the monitor's settings with `sets` applied in order; raises UserError."""
    from gpusim.config.check import checked
    from gpusim.config.monitor import MonitorSpec
    from gpusim.config.tree import ConfigTree, assignments

    tree = ConfigTree(origins={(): ("monitor", ())})
    for assignment in assignments(sets):
        tree.replace(assignment.path, assignment.value, assignment.source, ())
    return checked(MonitorSpec, tree)


def _replay(given: str, settings: "MonitorSpec", options: MonitorOptions) -> None:
    from gpusim.lab.monitor import views
    from gpusim.lab.monitor.curves import SYNTHETIC, load_curves
    from gpusim.lab.monitor.replay import replay

    file = Path(given)
    synthetic = given in SYNTHETIC and not file.exists()
    check_outputs({"--json": options.json_file, "--picture": options.picture}, [] if synthetic else [file])
    if options.picture is not None:
        check_format(options.picture)
        require_matplotlib("monitor")
    interrupt_python()
    result = replay(SYNTHETIC[given]() if synthetic else load_curves(given), settings)
    if options.picture is not None:
        from gpusim.lab.monitor.picture import picture

        write_whole(options.picture, picture(result).file(options.picture.suffix.lower()))
    _shown(views.replay_document(result), views.replay_table(result), options)


def _train(settings: "MonitorSpec", options: MonitorOptions, training: TrainingOptions) -> None:
    from gpusim.lab.monitor import views
    from gpusim.lab.monitor.attach import CountLocation
    from gpusim.lab.monitor.training_overhead import OverheadPlan, measure_overhead

    assert training.model is not None
    plan = OverheadPlan(
        training.model,
        training.iterations,
        training.exhaustive_iterations,
        training.batch,
        CountLocation(training.place),
        training.device,
    )
    interrupt_python()
    found = measure_overhead(plan, settings, Reporter(options.quiet).say)
    _shown(views.overhead_document(found, settings), views.overhead_table(found, settings), options)


def _shown(document: dict[str, Any], table: Table, options: MonitorOptions) -> None:
    from gpusim.results.report.document import as_json

    if options.json_file is not None:
        put(options.json_file, as_json(document))
    out = sys.stderr if options.json_file == STANDARD_OUTPUT else sys.stdout
    if options.markdown:
        out.write(replace(table, notes=()).markdown())
    elif not options.quiet:
        table.show(out)

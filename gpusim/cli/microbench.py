"""`gpusim microbench`: measure the model and set it beside published figures."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt, interrupt_python
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.pictures import check_format, require_matplotlib
from gpusim.base.progress import Reporter, reporting
from gpusim.cli.options import GpuOption, JsonOption, MarkdownOption, QuietOption, SetOption, StoreOptions

if TYPE_CHECKING:
    from gpusim.core.gpu_spec import GpuSpec
    from gpusim.microbench.result import Results


def microbench(
    gpu: GpuOption = "mi6",
    *,
    sets: SetOption,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="latency, bandwidth, lds, issue, front_end, accesses, occupancy or atomics; repeatable. "
            "[default: all]",
        ),
    ] = None,
    json_file: JsonOption = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves into an .svg or .png (needs Matplotlib).")
    ] = None,
    markdown: MarkdownOption = False,
    quiet: QuietOption = False,
    storing: StoreOptions,
) -> int:
    """Measure the model's latencies, bandwidths and rates by machine code, beside published figures of GCN parts."""
    from gpusim.cli.storing import kept, opened_store
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER, load_gpu
    from gpusim.report.document import as_json
    from gpusim.store.keeper import Started
    from gpusim.store.project import store_to_write

    document = opened(gpu, GPU_FOLDER)
    spec = load_gpu(document, sets)
    outputs = {"--json": json_file, "--picture": picture, "--store": store_to_write(storing.store)}
    check_outputs(outputs, document.files)
    if picture is not None:
        check_format(picture)
        require_matplotlib("microbench")
    reporter = Reporter(quiet)
    from gpusim.microbench import suite, table  # imports the compiled core: up to a second
    from gpusim.microbench.stored import measured_again, of_measurements, work_of_microbench

    def put(results: "Results") -> None:
        to_output = json_file == STANDARD_OUTPUT
        if to_output:
            sys.stdout.write(as_json(table.document(results, spec)))
        elif json_file is not None:
            write_whole(json_file, as_json(table.document(results, spec)))
        if picture is not None:
            from gpusim.microbench import picture as drawing

            write_whole(picture, drawing.picture(results, spec).file(picture.suffix.lower()))
        printed = sys.stderr if to_output else sys.stdout
        if markdown:
            printed.write(table.markdown(results, spec))
        elif not quiet:
            table.show(results, spec.name, printed)

    names = suite.wanted(only or [])
    work = work_of_microbench(spec, names)
    with opened_store(storing) as keeper:
        found = keeper.found(work) if keeper is not None else None
        if keeper is not None and found is not None:
            reporter.say(found.sentence(keeper.path))
            put(measured_again(found.content))
            return 0
        started = Started()
        measured = _measured(spec, names, reporter)
        if measured is None:
            reporter.say("interrupted: nothing is reported")
            return EXIT_INTERRUPTED
        interrupt_python()
        with kept(keeper, work, lambda: of_measurements(measured, spec), started, reporter):
            put(measured)
    return 0


def _measured(gpu: "GpuSpec", names: Sequence[str], reporter: Reporter) -> "Results | None":
    """Measure, and return the results; None after an interrupt."""
    from gpusim.microbench import suite
    from gpusim.microbench.bench import Bench

    with Interrupt() as interrupt:
        interrupt.deferred = True
        try:
            with reporting(reporter):
                return suite.run(Bench(gpu, reporter, lambda: interrupt.asked), names)
        except KeyboardInterrupt:
            return None
        finally:
            interrupt.deferred = False

"""`gpusim microbench`: measure the model and set it beside published figures."""

import sys
from collections.abc import Sequence
from pathlib import Path

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt, interrupt_python
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.pictures import check_format, require_matplotlib
from gpusim.base.progress import Reporter, reporting
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER, load_gpu
from gpusim.report.document import as_json


def microbench_command(
    gpu_name: str,
    sets: Sequence[str],
    only: Sequence[str],
    json_file: Path | None,
    picture: Path | None,
    markdown: bool,
    quiet: bool,
) -> int:
    """Measure, print, and write what is asked for; returns the exit code."""
    document = opened(gpu_name, GPU_FOLDER)
    gpu = load_gpu(document, sets)
    check_outputs({"--json": json_file, "--picture": picture}, document.files)
    if picture is not None:
        check_format(picture)
        require_matplotlib("microbench")
    reporter = Reporter(quiet)
    from gpusim.microbench import suite, table  # imports the compiled core: up to a second
    from gpusim.microbench.bench import Bench

    with Interrupt() as interrupt:
        names = suite.wanted(only)
        interrupt.deferred = True
        try:
            with reporting(reporter):
                results = suite.run(Bench(gpu, reporter, lambda: interrupt.asked), names)
        except KeyboardInterrupt:
            reporter.say("interrupted: nothing is reported")
            return EXIT_INTERRUPTED
        finally:
            interrupt.deferred = False
    interrupt_python()
    to_output = json_file == STANDARD_OUTPUT
    if to_output:
        sys.stdout.write(as_json(table.document(results, gpu)))
    elif json_file is not None:
        write_whole(json_file, as_json(table.document(results, gpu)))
    if picture is not None:
        from gpusim.microbench.picture import draw

        write_whole(picture, draw(results, gpu, picture.suffix.lower()))
    printed = sys.stderr if to_output else sys.stdout
    if markdown:
        printed.write(table.markdown(results, gpu))
    elif not quiet:
        table.show(results, gpu, printed)
    return 0

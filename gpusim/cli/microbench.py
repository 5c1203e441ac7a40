"""`gpusim microbench`: measure the model and set it beside published figures."""

import sys
from collections.abc import Sequence
from pathlib import Path

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter, reporting
from gpusim.config.gpu import load_gpu
from gpusim.microbench.picture import check_format, require_matplotlib
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
    gpu = load_gpu(gpu_name, sets)
    for option, path in (("--json", json_file), ("--picture", picture)):
        if path is not None and not path.absolute().parent.is_dir():
            raise UserError(f"{option} {path}: folder {path.absolute().parent} does not exist")
    if picture is not None:
        check_format(picture)
        require_matplotlib()
    reporter = Reporter(quiet)
    with Interrupt() as interrupt:
        from gpusim.microbench import suite, table  # the compiled core: seconds on the first start
        from gpusim.microbench.bench import Bench

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
    if json_file is not None:
        write_whole(json_file, as_json(table.document(results, gpu)))
    if picture is not None:
        from gpusim.microbench.picture import draw

        write_whole(picture, draw(results, gpu, picture.suffix.lower()))
    if markdown:
        sys.stdout.write(table.markdown(results, gpu))
    elif not quiet:
        table.show(results, gpu)
    return 0

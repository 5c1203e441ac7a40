"""`gpusim check`."""

import sys
from typing import Annotated

import typer

from gpusim.base.formats import COUNT
from gpusim.cli.options import JsonOption, QuietOption, SetOption, ThreadsOption, parse_threads


def check(
    config: Annotated[
        str, typer.Argument(metavar="KERNEL", help="Execution's file, or the name of a shipped one (vector_add).")
    ],
    sets: SetOption,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
    threads: ThreadsOption = "1",
) -> int:
    """Execute a kernel under watch: races, values never written, barriers that not all reach, misaligned accesses.

    It takes the files of `gpusim exec`. The exit code is 1 if anything was found.
    """
    import json

    from gpusim.base.files import write_whole
    from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
    from gpusim.base.processors import limit_threads
    from gpusim.base.progress import Reporter
    from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
    from gpusim.config.files import opened
    from gpusim.jobs.check import check_exec
    from gpusim.results.records.exit_code import EXIT_NOT_AS_EXPECTED
    from isa.object.names import short

    limit_threads(parse_threads(threads))
    document = opened(config, EXAMPLE_FOLDER)
    execution, path = load_exec(document, sets)
    check_outputs({"--json": json_file}, [*document.files, *execution.inputs(path)])
    result = check_exec(execution, path, Reporter(quiet))
    if json_file is not None:
        text = json.dumps(result, indent=2, allow_nan=False) + "\n"
        if json_file == STANDARD_OUTPUT:
            print(text, end="")
        else:
            write_whole(json_file, text)
    if quiet:
        for finding in result["findings"]:  # the errors that it was run for
            print(finding["text"], file=sys.stderr)
    elif json_file != STANDARD_OUTPUT:
        for finding in result["findings"]:
            print(finding["text"])
        counts = ", ".join(f"{count} {kind}" for kind, count in result["counts"].items()) or "nothing found"
        executed = (
            f"{COUNT(result['workgroups'])} workgroups, "
            f"{COUNT(result['wavefront_instructions'])} wavefront instructions"
        )
        print(f"{short(result['kernel'])}: {counts}; {executed}")
    return EXIT_NOT_AS_EXPECTED if result["findings"] else 0

"""`gpusim microbench`: measure the model and set it next to published figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from gpusim.base.files import write_whole
from gpusim.base.picture import check_format, require_matplotlib
from gpusim.cli.options import GpuOption, JobCommandOptions, LiveOptions, MarkdownOption, StoreOptions

OF_MANY = "microbenchmarks launch machine code of their own, hundreds of times: what they measure is figures"


def microbench(
    gpu: GpuOption = "mi6",
    *,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="latency, bandwidth, lds, issue, front_end, accesses, occupancy or atomics; repeatable. "
            "[default: all]",
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves into an .svg or .png (needs Matplotlib).")
    ] = None,
    markdown: MarkdownOption = False,
    options: JobCommandOptions,
    storing: StoreOptions,
    live: LiveOptions,
) -> int:
    """Measure the model's latencies, bandwidths and rates by machine code, beside published figures of GCN parts."""
    from gpusim.cli.outcome import JobRequest, run_job
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER, load_gpu

    document = opened(gpu, GPU_FOLDER)
    spec = load_gpu(document, options.sets)
    if picture is not None:
        check_format(picture)
        require_matplotlib("microbench")
    from gpusim.jobs.kinds import make_job  # imports the compiled core: up to a second
    from gpusim.lab.microbench.job import MicrobenchJob, measured_again, select_groups
    from gpusim.lab.microbench.views import markdown as as_markdown
    from gpusim.lab.microbench.views import show

    def draw(result: Mapping[str, Any]) -> None:
        if picture is not None:
            from gpusim.lab.microbench.picture import picture as drawn

            write_whole(picture, drawn(measured_again(result), spec).file(picture.suffix.lower()))

    def shown(result: Mapping[str, Any], out: TextIO, as_page: bool) -> None:
        if as_page:
            out.write(as_markdown(measured_again(result), spec))
        else:
            show(measured_again(result), spec.name, spec.architecture, out)

    job = make_job("microbench", spec, select_groups(only or []))
    assert isinstance(job, MicrobenchJob)
    asked = JobRequest(
        lambda _: job, job.work, document.files, {"--picture": picture}, markdown, also=draw, shown=shown,
        not_launched=OF_MANY,
    )  # fmt: skip
    return run_job(asked, options, storing, live)

"""`gpusim run`."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.progress import Reporter
from gpusim.cli.options import (
    ConfigArgument,
    DrawOptions,
    EngineChoice,
    JobCommandOptions,
    JobSamplingOptions,
    LiveOptions,
    NoVerifyOption,
    StoreOptions,
)

if TYPE_CHECKING:
    from gpusim.jobs.running.job import Job


def run(
    config: ConfigArgument,
    engine: Annotated[
        EngineChoice | None,
        typer.Option(help="off: dense kernel, whole L2; on: sparse kernel with the engine; both: the two, compared."),
    ] = None,
    no_verify: NoVerifyOption = False,
    *,
    options: JobCommandOptions,
    storing: StoreOptions,
    sampling: JobSamplingOptions,
    draws: DrawOptions,
    live: LiveOptions,
) -> int:
    """Simulate a layer and report what it cost."""
    from gpusim.cli.outcome import JobRequest, overrides, run_job
    from gpusim.config.files import opened
    from gpusim.config.run import load_run
    from gpusim.results.store.work import describe_run

    own = [f"run.engine={engine}"] * (engine is not None) + ["run.verify=false"] * no_verify
    document = opened(config)
    loaded = load_run(document, [*options.sets, *own, *overrides(options), *sampling.overrides(), *draws.overrides()])

    def make(_: Reporter) -> "Job":
        from gpusim.jobs.kinds import make_run_job

        return make_run_job(loaded)

    request = JobRequest(make, describe_run(loaded), [*document.files, *loaded.inputs], is_countable=True)
    return run_job(request, options, storing, live)

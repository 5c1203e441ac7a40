"""`gpusim run`."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.progress import Reporter
from gpusim.cli.options import (
    ConfigArgument,
    EngineChoice,
    JobOptions,
    LiveOptions,
    NoVerifyOption,
    StoreOptions,
)
from gpusim.cli.sampling_options import JobSamplingOptions

if TYPE_CHECKING:
    from gpusim.running.job import Job


def run(
    config: ConfigArgument,
    engine: Annotated[
        EngineChoice | None,
        typer.Option(help="off: dense kernel, whole L2; on: sparse kernel with the engine; both: the two, compared."),
    ] = None,
    no_verify: NoVerifyOption = False,
    *,
    options: JobOptions,
    storing: StoreOptions,
    sampling: JobSamplingOptions,
    live: LiveOptions,
) -> int:
    """Simulate a layer and report what it cost."""
    return run_command(config, engine.value if engine else None, not no_verify, options, storing, sampling, live)


def run_command(
    name: str,
    engine: str | None,
    verify: bool,
    options: JobOptions,
    storing: StoreOptions,
    sampling: JobSamplingOptions,
    live: LiveOptions,
) -> int:
    """Run a configuration and write its result; returns the exit code. The options override `run:` of the file."""
    from gpusim.cli.outcome import JobAsked, overrides, run_job
    from gpusim.config.files import opened
    from gpusim.config.run import load_run
    from gpusim.store.work import work_of_run

    own = [f"run.engine={engine}"] * (engine is not None) + ["run.verify=false"] * (not verify)
    document = opened(name)
    config = load_run(document, [*options.sets, *own, *overrides(options), *sampling.overrides()])

    def make(_: Reporter) -> "Job":
        from gpusim.jobs.kinds import job_of

        return job_of(config)

    asked = JobAsked(make, work_of_run(config), [*document.files, *config.inputs])
    return run_job(asked, options, storing, live)

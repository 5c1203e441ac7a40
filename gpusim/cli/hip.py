"""`gpusim hip`: an unmodified HIP or OpenCL program on the simulated GPU."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpusim.base.errors import UserError
from gpusim.cli.options import (
    GpuOption,
    JobCommandOptions,
    LiveOptions,
    MarkdownOption,
    SamplingOptions,
    StoreOptions,
    several,
)

TimingChoice = Literal["on", "off"]
BoundsChoice = Literal["page", "exact", "loose"]


@dataclass(frozen=True)
class HipOptions:
    """Options for simulating the kernels of a HIP program."""

    gpu: GpuOption = "r9nano"
    timing: Annotated[
        TimingChoice,
        typer.Option("--timing", help="on: through the timing model; off: for the program's results alone."),
    ] = "on"
    only: Annotated[
        list[str],
        several(
            "--only",
            "CONDITION",
            "Time, check or record only such launches: kernel=REGEX, launch=FIRST-LAST, stream=NUMBER, "
            "line=FILE:FIRST-LAST of a Python program; the others are executed alone; repeatable.",
        ),
    ] = field(default_factory=list)
    kernels: Annotated[
        str | None, typer.Option("--kernels", metavar="REGEX", help="The same as --only kernel=REGEX.", hidden=True)
    ] = None
    """Pattern of kernels' names, as `--only` took it in 0.2.0; None: not given."""
    warm: Annotated[
        bool,
        typer.Option(
            "--warm", help="A launch finds in L2 and the TLBs what the launch before left there: --set caches=warm."
        ),
    ] = False
    bounds: Annotated[
        BoundsChoice | None,
        typer.Option(
            "--bounds",
            help="Where an allocation ends for its kernels: loose: with the driver's 2 MiB, as on a GPU: what lies "
            "beyond its page is said once; page: with its page; exact: with its last byte. [default: loose, with "
            "--check exact]",
        ),
    ] = None
    """End of an allocation; None: as on a GPU, and exact under watch."""
    check: Annotated[
        bool,
        typer.Option("--check", help="Execute kernels under watch, untimed: races, values never written, barriers."),
    ] = False
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", metavar="S", min=0, help="End a kernel after so much time; --timeout: all."),
    ] = None
    max_instructions: Annotated[
        int | None,
        typer.Option(
            "--max-instructions",
            metavar="N",
            min=1,
            max=1 << 60,
            help="Instructions of one wavefront before it counts as an endless loop. [default: 67,108,864]",
        ),
    ] = None
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="DIR",
            help="Write launches to a new folder, each with memory before and after it: gpusim exec runs them again.",
        ),
    ] = None
    record_launches: Annotated[
        int, typer.Option("--record-launches", metavar="N", min=1, help="How many of each kernel, its first ones.")
    ] = 1
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="DIR", help="Folder with another system's libraries, for what needs them."),
    ] = None
    """Folder with the libraries of another system."""
    host_pointers: Annotated[
        bool,
        typer.Option(
            "--host-pointers",
            help="hipPointerGetAttributes of release 5 describes memory that HIP does not know, as release 6 does.",
        ),
    ] = False
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="ENGINE",
            help="Compaction engine that serves a Python program's sparse regions (gpusim_spartan.region): a file or a "
            "shipped name such as default; off: none, the regions are ordinary memory.",
        ),
    ] = None
    """Name or file of the engine; None: the program declares no sparse regions."""
    jax: Annotated[
        bool,
        typer.Option(
            "--jax",
            help="For JAX on mi100 and mi210: the kernel driver's files, by which it counts cards, stand-ins for "
            "missing libraries, and XLA_FLAGS that do without them.",
        ),
    ] = False
    markdown: MarkdownOption = False


def hip(
    asked: HipOptions,
    options: JobCommandOptions,
    sampling: SamplingOptions,
    storing: StoreOptions,
    live: LiveOptions,
    program: Annotated[
        list[str] | None, typer.Argument(metavar="-- PROGRAM [ARGUMENTS]...", help="The program and its arguments.")
    ] = None,
) -> int:
    """Run a HIP or OpenCL program, as it is, on the simulated GPU: its output and its exit code are its own."""
    from gpusim.base.launch_selector import parse_selector
    from gpusim.cli.outcome import LISTED_HOTSPOTS, JobRequest, choose_timeline_kind, run_job
    from gpusim.config.engine import load_engine
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER, gpus_that_run
    from gpusim.config.hip_run import load_hip
    from gpusim.results.store.project import store_to_write

    if not program:
        raise UserError("no program: gpusim hip [OPTIONS] -- PROGRAM [ARGUMENTS]")
    _check(asked, options, sampling)
    conditions = [*asked.only, *([] if asked.kernels is None else [f"kernel={asked.kernels}"])]
    selector = parse_selector("--only", conditions)
    gpu_file = opened(asked.gpu, GPU_FOLDER)
    warm = ["caches=warm"] if asked.warm else []
    settings = load_hip(gpu_file, [*options.sets, *sampling.overrides(), *warm])
    if (
        settings.sampling is not None
        and options.timeline is not None
        and choose_timeline_kind("hip", options) == "cycles"
    ):
        raise UserError(f"--timeline {options.timeline}: a sampled launch has no timeline of cycles; --full")
    from gpusim.jobs.hip.job import HipJob
    from gpusim.jobs.hip.supervisor import HostProgram
    from gpusim.jobs.running.job import check_watched, launches
    from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS

    check_watched("--every", options.every or 0, settings.sampling is not None)
    how = settings.sampling
    if how is not None:  # a program reads what its kernels compute
        how = how.model_copy(update={"functional": True})
    hotspots = LISTED_HOTSPOTS if options.hotspots else 0
    job = HipJob(
        program=HostProgram(
            program,
            asked.root,
            asked.host_pointers,
            settings.gpu.architecture,
            asked.engine is not None,
            jax=asked.jax,
            compute_units=settings.gpu.cus,
        ),
        gpu=settings.gpu,
        energy_spec=settings.energy,
        timing=asked.timing == "on" and not asked.check,
        launches=launches(options.checked, hotspots, options.max_cycles or 0, how, options.every or 0),
        selector=selector,
        bounds=asked.bounds or ("exact" if asked.check else "loose"),
        keep=any((options.every, options.json_file, options.out, store_to_write(storing.store))),
        check=asked.check,
        max_seconds=asked.max_seconds,
        max_instructions=asked.max_instructions or MAX_WAVEFRONT_INSTRUCTIONS,
        record=asked.record,
        record_launches=asked.record_launches,
        gpus_that_run=gpus_that_run,
        engine_spec=None if asked.engine in (None, "off") else load_engine(asked.engine),
    )

    files = [*gpu_file.files, Path(program[0])]
    return run_job(
        JobRequest(lambda _: job, job.work, files, markdown=asked.markdown, to_errors=True), options, storing, live
    )


def _check(asked: HipOptions, options: JobCommandOptions, sampling: SamplingOptions) -> None:
    """Raise UserError for options that do not go together."""
    if asked.timing == "off" or asked.check:
        timed = {"--sample": sampling.sample or None, **options.of_launches()}
        if not asked.check and asked.record is None:
            timed |= {"--only": asked.only[0] if asked.only else None, "--kernels": asked.kernels}
        for option, value in timed.items():
            if value is not None:
                said = option if value is True else f"{option} {value}"
                raise UserError(f"{said}: nothing is timed with {'--check' if asked.check else '--timing off'}")

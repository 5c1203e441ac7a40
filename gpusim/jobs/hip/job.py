"""A HIP program as a job: the program runs as it is, and what it launched and copied is its record."""

import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.base.launch_selector import ALL_LAUNCHES, LaunchSelector, ProgramLine
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.jobs.hip.supervisor import HostProgram, run_program
from gpusim.jobs.host.command_processor import RunOptions
from gpusim.jobs.running.job import Context, FunctionTask, Job, JobOptions, Variant
from gpusim.model.core.facts import combined
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.spec import EnergySpec
from gpusim.results.records.exit_code import EXIT_NOT_AS_EXPECTED
from gpusim.results.records.record import CommandTimes, LaunchGroup, PartRecord, RunRecord
from gpusim.results.store.work import RunDescription
from isa.checking.findings import described
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS
from isa.object.names import short
from spartan.engine_spec import EngineSpec

if TYPE_CHECKING:
    import socket

    from gpusim.jobs.hip.launching import AllocationBounds, GpusThatRun, KernelSums, ProgramLaunches
    from gpusim.jobs.hip.session import Session


PROGRAM_ENDED = "its program ended"  # while a launch ran: beside the reasons that stop any run


class HipJob(Job):
    """A program on the simulated GPU (gpusim.jobs.running.job.Job).

    Args:
        timing: False executes kernels for their results alone.
        launches: How each is run.
        selector: Which of them are timed, checked or recorded, the others are executed alone.
        bounds: Where an allocation ends.
        keep: Each launch's metrics are part of the record.
        check: Launches are executed under watch, and what is found is part of the record.
        max_seconds: Wall time after which a launch is ended, without compilation.
        max_instructions: Instructions of one wavefront, after which it counts as an endless loop.
        record: A folder that the first `record_launches` launches of each kernel are written to.
        gpus_that_run: Lists the names of GPUs that execute code of some architectures, for the message about a program
            without code for this one.
        engine_spec: Serves the program's sparse regions.
    """

    kind = "hip"

    def __init__(
        self,
        program: HostProgram,
        gpu: GpuSpec,
        energy_spec: EnergySpec = EnergySpec(),
        timing: bool = True,
        launches: RunOptions = RunOptions(),
        selector: LaunchSelector = ALL_LAUNCHES,
        bounds: "AllocationBounds" = "loose",
        keep: bool = False,
        check: bool = False,
        max_seconds: float | None = None,
        max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS,
        record: Path | None = None,
        record_launches: int = 1,
        gpus_that_run: "GpusThatRun | None" = None,
        engine_spec: EngineSpec | None = None,
    ) -> None:
        self.program, self.gpu, self.energy_spec, self.engine_spec = program, gpu, energy_spec, engine_spec
        self.title = " ".join(program.arguments)
        self.options = JobOptions(timing, verify=False, launches=launches)  # only the program knows its results
        self._selector, self._bounds, self._keep, self._check = selector, bounds, keep, check
        self._max_seconds, self._max_instructions = max_seconds, max_instructions
        self._gpus_that_run = gpus_that_run
        self._record, self._record_launches = record, record_launches

    @property
    def variants(self) -> Sequence[Variant]:
        """Return the only variant of the job."""
        return [Variant("", self.engine_spec is not None, lambda: FunctionTask(self._run))]

    def resolved(self) -> dict[str, Any]:
        """Return every value, as plain data."""
        how = self.options.launches
        return {
            "gpu": self.gpu.model_dump(mode="json"),
            "energy": self.energy_spec.model_dump(mode="json"),
            **({} if self.engine_spec is None else {"engine": self.engine_spec.model_dump(mode="json")}),
            "program": list(self.program.arguments),
            "timing": self.options.timing,
            "sampling": None if how.sampling is None else how.sampling.model_dump(mode="json"),
            "selection": list(self._selector.conditions),
            "bounds": self._bounds,
            "check": self._check,
            "run": {
                "checked": how.checked,
                "hotspots": how.hotspots,
                "max_cycles": how.max_cycles,
                "every": how.every,
                "max_seconds": self._max_seconds,
                "max_instructions": self._max_instructions,
            },
        }

    @property
    def work(self) -> RunDescription:
        """Return the work for a store; a program is always run, as no hash covers what it does."""
        return RunDescription("hip", self.title, self.resolved(), (), self.gpu.name, repeatable=False)

    def _run(self, context: Context, record: RunRecord) -> None:
        """Run the program to its end and serve its requests to the GPU; a row of the record is a kernel."""
        context.interrupt.deferred = True  # what was simulated by then is reported
        made: list[ProgramLaunches] = []
        errors = Reporter(quiet=False)
        errors.on_terminal = False

        def sessions() -> "Callable[[socket.socket, int], Session]":
            from gpusim.jobs.hip.launch_files import LaunchRecorder
            from gpusim.jobs.hip.launching import (  # the compiled core: while the program starts
                LaunchOptions,
                ProgramLaunches,
            )
            from gpusim.jobs.hip.session import Session

            recorder = None
            if self._record is not None:
                recorder = LaunchRecorder(self._record, self._record_launches, self.gpu, errors)
            how = LaunchOptions(
                gpu=self.gpu,
                timing=self.options.timing,
                selector=self._selector,
                launches=replace(context.launches, timeline=context.timeline),
                keep=self._keep,
                bounds=self._bounds,
                check=self._check,
                max_seconds=self._max_seconds,
                max_instructions=self._max_instructions,
                engine=context.engine_spec,
                recorder=recorder,
                gpus_that_run=self._gpus_that_run,
            )
            made.append(launches := ProgramLaunches())
            return lambda socket, file: Session(socket, file, how, launches, errors, lambda: context.interrupt.asked)

        code = run_program(self.program, context.reporter, sessions, lambda: context.interrupt.asked)
        (launches,) = made
        if launches.partial:  # whatever a program that was told of it makes of that
            if context.interrupt.asked:
                code = EXIT_INTERRUPTED
            elif launches.stopped_by:
                record.stopped_by = launches.stopped_by
                code = code or EXIT_NOT_AS_EXPECTED
            else:
                record.stopped_by = PROGRAM_ENDED
        if launches.unselected:
            errors.say(f"gpusim: --only {self._selector.explain_nothing(launches.unselected)}")
        _fill(record, launches, code)
        if self._check and launches.unselected is None:  # some launch was under watch
            found = [replace(one, count=count) for one, count in launches.findings.items()]
            record.values["findings"] = described(found)
            record.exit_code = code or (EXIT_NOT_AS_EXPECTED if found else 0)


def _fill(record: RunRecord, launches: "ProgramLaunches", code: int) -> None:
    """Put what was launched into the record of a run, the kernels that took longest first."""
    ordered = sorted(launches.sums.items(), key=lambda item: (-item[1].cycles, -item[1].instructions, item[0]))
    record.parts = [_part(name, sums) for name, sums in ordered]
    record.lines = [_line_part(line, sums) for line, sums in launches.lines.items()]
    record.lines.sort(key=lambda part: (-part.values["cycles"], -part.values["wavefront_instructions"], part.name))
    record.launches, record.places = launches.kept, launches.places
    record.launch_count = sum(sums.launches for sums in launches.sums.values())
    record.commands = launches.times
    record.host_time_us = max((times.ended_us for times in launches.times), default=0.0)
    record.partial |= launches.partial
    record.exit_code = code
    record.values = {"exit_code": code, "streams": _streams(launches.times)}
    record.kernel = " + ".join(short(name) for name, _ in ordered)


def _part(name: str, sums: "KernelSums") -> PartRecord:
    values = {
        "launches": sums.launches,
        "timed": sums.timed,
        "faulted": sums.faulted,
        "simulated_launches": sums.timed,
        "workgroups": sums.workgroups,
        "wavefront_instructions": sums.instructions,
        **({"strays": dict(sums.strays)} if sums.strays else {}),
        **({"serial_reason": sums.serial_reason} if sums.serial_reason else {}),
    }
    return PartRecord(name, values=values, facts=sums.facts, groups=sums.groups)


def _line_part(line: ProgramLine, by_kernel: "Mapping[str, KernelSums]") -> PartRecord:
    """Return the record of a line of a Python program, the kernels that took longest first."""
    ordered = sorted(by_kernel.items(), key=lambda item: (-item[1].cycles, -item[1].instructions, item[0]))
    kernels = [
        {"name": name, "launches": sums.launches, "timed": sums.timed, "cycles": sums.cycles if sums.timed else None}
        for name, sums in ordered
    ]
    known = [(sums, sums.facts) for _, sums in ordered if sums.timed]
    groups = [
        group for sums, facts in known if facts is not None for group in sums.groups or [LaunchGroup(sums.timed, facts)]
    ]
    timed = plain_sum(sums.timed for sums, _ in known)
    values = {
        "file": line.file,
        "line": line.number,
        "function": line.function,
        "text": linecache.getline(line.file, line.number).strip(),
        "launches": plain_sum(sums.launches for sums in by_kernel.values()),
        "timed": timed,
        "simulated_launches": timed,
        "cycles": plain_sum(sums.cycles for sums, _ in known),
        "wavefront_instructions": plain_sum(sums.instructions for sums in by_kernel.values()),
        "kernels": kernels,
    }
    facts = combined([group.facts for group in groups]) if groups else None
    return PartRecord(line.text, values=values, facts=facts, groups=groups if len(groups) > 1 else [])


def _streams(times: Sequence[CommandTimes]) -> list[dict[str, Any]]:
    """Sum up what each stream of each process did."""
    known = sorted({(one.place, one.stream) for one in times})
    several = len({place for place, _ in known}) > 1
    named = {key: f"{key[0]}: {key[1]}" if several else str(key[1]) for key in known}
    blank = {"kernels": 0, "kernel_us": 0.0, "copies": 0, "copied_bytes": 0, "copy_us": 0.0, "ended_us": 0.0}
    streams: dict[tuple[str, int], dict[str, Any]] = {
        (place, stream): {"stream": named[place, stream], **blank} for place, stream in known
    }
    for span in times:
        row, took_us = streams[span.place, span.stream], span.ended_us - span.started_us
        row["ended_us"] = max(row["ended_us"], span.ended_us)
        if span.copied_bytes:
            row["copies"] += 1
            row["copied_bytes"] += span.copied_bytes
            row["copy_us"] += took_us
        else:
            row["kernels"] += 1
            row["kernel_us"] += took_us
    return list(streams.values())

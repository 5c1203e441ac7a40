"""Launches executed under watch for what they do wrong, without timing; sparse loads as the engine answers them."""

import time

from gpusim.jobs.host.command_processor import LaunchCommand, Observer
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import residency
from isa.checking.checker import CheckResult, checked
from spartan.shadows import shadows_of


def check_launch(command: LaunchCommand, gpu: GpuSpec, observe: Observer | None = None) -> tuple[RunFacts, CheckResult]:
    """Execute a launch under watch. A fault ends it and is a finding.

    Args:
        command: the launch.
        gpu: the GPU.
        observe: called with the progress; ends the launch by returning False.

    Returns:
        What was counted and what was found.

    Raises:
        OccupancyError: a workgroup does not fit a compute unit.
    """
    launch, begun = command.launch, time.perf_counter()
    check = checked(
        launch, residency(launch, gpu), command.max_instructions, observe, command.serve, shadows_of(launch) or None
    )
    x, y, z = launch.workgroups
    kernel = {
        "name": launch.kernel.name,
        "clock_ghz": gpu.clock_ghz,
        "workgroups": check.workgroups,
        "workgroups_total": x * y * z,
        "wavefronts": check.wavefronts,
        "wavefront_instructions": check.instructions,
    }
    facts = RunFacts.of(partial=not check.finished, kernel=kernel)
    wall_s = time.perf_counter() - begun - check.compile_s
    facts.add("simulator", {"wall_s": wall_s, "cpu_s": check.seconds, "compile_s": check.compile_s})
    return facts, check

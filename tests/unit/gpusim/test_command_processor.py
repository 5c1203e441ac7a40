"""Is what a device cannot do refused before anything runs, and nothing else?"""

from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.base.progress import Reporter
from gpusim.jobs.host.command_processor import CommandProcessor, LaunchCommand, LaunchError, RunOptions
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.records.record import RunRecord

SAMPLED = {"sampling": SamplingSpec()}
TIMELINE: dict[str, Any] = {"timeline": object()}


def run(timing: bool, *commands: LaunchCommand, **options: Any) -> None:
    processor = CommandProcessor(GpuSpec(), Reporter(quiet=True), timing=timing)
    processor.run(commands, RunRecord(False, "", []), RunOptions(**options), stopped=lambda: True)


@pytest.mark.parametrize("options", [{**SAMPLED, **TIMELINE}, {**SAMPLED, "max_cycles": 1}, {**SAMPLED, "every": 1}])
def test_a_sampled_launch_has_no_cycles_to_show_or_to_end_at(options: dict[str, Any]) -> None:
    with pytest.raises(LaunchError, match="a sampled launch has no timeline, no last cycle and no counters over time"):
        run(True, **options)


@pytest.mark.parametrize("options", [TIMELINE, {"max_cycles": 1}, {"hotspots": 1}, {"checked": True}, {"every": 1}])
def test_a_device_without_timing_has_no_cycles(options: dict[str, Any]) -> None:
    with pytest.raises(LaunchError, match="a device without timing has no warm caches"):
        run(False, **options)


def test_a_device_without_timing_has_no_caches_and_no_samples() -> None:
    launch: Any = SimpleNamespace(kernel=SimpleNamespace(gpu="gfx803"))  # nothing else is looked at
    with pytest.raises(LaunchError, match="a device without timing has no warm caches"):
        run(False, LaunchCommand(launch), LaunchCommand(launch, warm=True))
    with pytest.raises(LaunchError, match="no L1 to pass"):
        run(False, LaunchCommand(launch, l1_bypass=False))
    with pytest.raises(LaunchError, match="nothing to sample"):
        run(False, **SAMPLED)


def test_everything_else_is_allowed() -> None:
    launch: Any = SimpleNamespace(kernel=SimpleNamespace(gpu="gfx803"))
    run(True, LaunchCommand(launch, warm=True), checked=True, hotspots=3, max_cycles=9, **TIMELINE)
    run(True, LaunchCommand(launch, warm=True), checked=True, hotspots=3, **SAMPLED)
    run(False, LaunchCommand(launch), LaunchCommand(launch, warm=False))

"""What others have written scripts against: the public names of `gpusim`, the commands, the folders."""

import subprocess
import sys
from typing import Any

import pytest
import typer.main

import gpusim
from gpusim.cli.main import app
from tests.structure.imports import ROOT, TOPS

NAMES = [
    *("CodeObjectError", "DecodeError", "Device", "DeviceArray", "DeviceArrayError", "DeviceMemoryError"),
    *("ExecutionFault", "GpuSpec", "GridError", "KernargError", "KernelFunction", "KernelNameError", "LaunchError"),
    *("LaunchResult", "Local", "Module", "OccupancyError", "Pointer", "ProgramError", "Queue", "QueueError"),
    *("QueueResult", "UserError", "__version__"),
]
COMMANDS = {
    "bench": "--set --only --history --repeat --fail-below --list --perf-map",
    "capture": "MODEL IMAGES OUT --epochs --batch --seed --images --device",
    "disasm": "FILE --kernel --hazards",
    "exec": "CONFIG --set --json --quiet --checked --hotspots --timeline --window",
    "kernels build": "SOURCES",
    "kernels check": "",
    "metrics": "--markdown",
    "microbench": "--gpu --set --only --json --picture --markdown --quiet",
    "run": "CONFIG --engine --set --json --out --quiet --no-verify --checked --hotspots --timeline --window",
    "show": "CONFIG --set --values",
}


def commands(group: Any, before: str = "") -> dict[str, set[str]]:
    """Every command, with its arguments and options."""
    found: dict[str, set[str]] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= commands(command, f"{before}{name} ")
        else:
            arguments = {p.name.upper() for p in command.params if p.param_type_name == "argument"}
            found[before + name] = arguments | {option for p in command.params for option in p.opts}
    return found


def test_the_public_names_are_what_they_were() -> None:
    assert sorted(gpusim.__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(gpusim, name) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_what_it_took(name: str) -> None:
    assert set(COMMANDS[name].split()) <= commands(typer.main.get_command(app))[name]


def test_the_top_level_is_what_it_was() -> None:
    assert all((ROOT / folder / "__init__.py").exists() for folder in TOPS)
    assert (ROOT / "sim_configs").is_dir() and (ROOT / "tests").is_dir()


def test_a_device_needs_no_workloads() -> None:
    script = (
        "import sys, gpusim; gpusim.Device('r9nano');"
        "print(*(name for name in sys.modules if name.split('.')[0] == 'workloads'))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

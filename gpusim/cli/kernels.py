"""`gpusim kernels`: build the shipped kernels' code objects, and compare them with their sources."""

from pathlib import Path

from workloads.toolchain import build

EXIT_DIFFERENT = 1


def build_command(sources: list[Path]) -> None:
    """Compile the sources, or without any every shipped kernel; prints what was written."""
    for path in build.build_sources(sources or build.shipped_sources()):
        print(path)


def check_command() -> int:
    """Print what is not what the sources give; returns the exit code."""
    problems = build.check_all()
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{len(build.shipped_sources())} code objects are what their sources give")
    return EXIT_DIFFERENT if problems else 0

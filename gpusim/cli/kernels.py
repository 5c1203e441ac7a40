"""`gpusim kernels`: build the shipped kernels' code objects, and compare them with their sources."""

from workloads import build

EXIT_DIFFERENT = 1


def build_command() -> None:
    """Compile every kernel; prints what was written."""
    for path in build.build_all():
        print(path)


def check_command() -> int:
    """Print what is not what the sources give; returns the exit code."""
    problems = build.check()
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{len(build.kernel_sources())} code objects are what their sources give")
    return EXIT_DIFFERENT if problems else 0

"""`gpusim packages`: what programs on the simulated GPU need, fetched into a folder."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer


def packages(
    name: Annotated[str, typer.Argument(metavar="SET", help="cupy, cupy7, jax, or libraries: AMD's libraries alone.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder; what it has of the set stays.")],
    python: Annotated[
        str, typer.Option("--python", metavar="PATH", help="Interpreter of the environment. [default: gpusim's]")
    ] = "",
) -> None:
    """Fetch CuPy, JAX or AMD's libraries from the system's own package sources; print the command that runs a program.

    Nothing is installed. Debian's packages are checked against the archive's signed lists, wheels against their index;
    FOLDER/packages.json has each file with its SHA-256.
    """
    from gpusim.base.interrupt import interrupt_python
    from gpusim.jobs.hip.packages import explain_missing_compiler, fetch_set

    interrupt_python()
    command = fetch_set(name, folder, python or sys.executable)
    missing = explain_missing_compiler()
    if missing:
        print(f"gpusim: programs that compile kernels cannot run yet: {missing}", file=sys.stderr)
    print(shlex.join(command))

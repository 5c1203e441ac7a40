"""The command line in this process, as if it had one of its own: that would take most of a second more to begin."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO
from unittest.mock import patch

from gpusim.base import progress
from gpusim.cli.main import invoke


def invoked(arguments: list[str]) -> "subprocess.CompletedProcess[str]":
    """Exit code of a call of gpusim, and what it and the processes that it starts wrote."""
    anew = patch.object(progress, "_said", set())  # what is said once is said once in each call
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with _leading_to(out, 1), _leading_to(err, 2), redirect_stdout(out), redirect_stderr(err), anew:
            code = invoke(arguments)
        for file in (out, err):
            file.flush()
            file.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


@contextmanager
def _leading_to(file: TextIO, descriptor: int) -> Iterator[None]:
    kept = os.dup(descriptor)
    os.dup2(file.fileno(), descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)

"""Files that a run writes: checked before it does the work, so that none takes the place of what it reads."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole

STANDARD_OUTPUT = Path("-")


def check_outputs(outputs: Mapping[str, Path | None], inputs: Sequence[Path] = ()) -> None:
    """Check files before a run that writes them at its end. Links are followed.

    Args:
        outputs: files by the option that names them; None: the option is not given.
        inputs: files that the run reads.

    Raises:
        UserError: an output cannot be written, another one overwrites it, or it is an input.
    """
    seen: list[tuple[str, Path]] = []
    for option, path in outputs.items():
        if path is None or path == STANDARD_OUTPUT or _is_stream(path):
            continue
        folder = path.absolute().parent
        if not folder.is_dir():
            raise UserError(f"{option} {path}: folder {folder} does not exist")
        if path.is_dir():
            raise UserError(f"{option} {path}: is a folder; a file is needed")
        for read in inputs:
            if _same(path, read):
                raise UserError(f"{option} {path}: is read by this run ({read}) and would be overwritten")
        for other, written in seen:
            if _same(path, written):
                raise UserError(f"{option} {path}: is also the file of {other}")
        _try(option, path)
        seen.append((option, path))


def _try(option: str, path: Path) -> None:
    """Raise UserError if no file can be made where the output goes: found now, not after hours of work."""
    try:
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".part", dir=path.resolve().parent):
            pass
    except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself
        raise UserError(f"{option} {path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def put(file: Path, text: str) -> None:
    """Write a text into a file, whole or not at all.

    Args:
        file: the file, or what stands for standard output.
        text: its contents.
    """
    if file == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        write_whole(file, text)


def _is_stream(path: Path) -> bool:
    """Tell whether the path is a device or a pipe, to which is written without replacing anything."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _same(left: Path, right: Path) -> bool:
    try:
        return left.resolve() == right.resolve() or left.samefile(right)
    except (OSError, RuntimeError):  # one of them does not exist, or is a link to itself
        return False

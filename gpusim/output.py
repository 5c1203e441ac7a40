"""Writing results to files: whole or not at all."""

import os
import tempfile
from pathlib import Path

from gpusim.errors import UserError


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace `path` by `content`; when that fails what was there before stays, and UserError says why.

    A link is followed; a device or a pipe is not replaced but written to.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = ""
    try:
        path = path.resolve()
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise UserError(
            f"{path}: cannot be written: {error.strerror or error} (what was there before is unchanged)"
        ) from None


def folder(path: Path) -> Path:
    """Make sure that a folder for output exists."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be made a folder for output: {error.strerror or error}") from None
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Writing results to files: whole or not at all."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gpusim.errors import UserError


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace `path` by `content`; when that fails what was there before stays, and UserError says why.

    A link is followed; a device or a pipe is not replaced but written to.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Replace several files, all or none: each is written beside its place, then all move (see `write_whole`)."""
    written: list[tuple[str, Path]] = []
    path = Path()
    try:
        for path, content in contents.items():
            data = content.encode("utf-8") if isinstance(content, str) else content
            target = path.resolve()
            if target.exists() and not target.is_file() and not target.is_dir():
                target.write_bytes(data)
                continue
            handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
            written.append((temporary, target))
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
        for temporary, path in written:
            os.replace(temporary, path)
    except OSError as error:
        for temporary, _ in written:
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

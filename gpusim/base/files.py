"""Writing results to files: whole or not at all."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gpusim.base.errors import UserError


def write_whole(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Replace a file, whole or not at all.

    Args:
        path: the file; a link is followed, a device or a pipe is written to.
        content: text or bytes.
        mode: of the file, less the umask.

    Raises:
        UserError: the file cannot be written; the former one stays.
    """
    write_together({path: content}, mode)


def write_together(contents: Mapping[Path, str | bytes], mode: int = 0o666) -> None:
    """Replace several files, all or none: each is written next to its place, then all move (see `write_whole`).

    Args:
        contents: Text or bytes by path.
        mode: Permissions of the files.

    Raises:
        UserError: A file cannot be written.
    """
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
            os.chmod(temporary, mode & ~_umask())
        for temporary, path in written:
            os.replace(temporary, path)
    except OSError as error:
        for temporary, _ in written:
            Path(temporary).unlink(missing_ok=True)
        raise UserError(
            f"{path}: cannot be written: {error.strerror or error} (what was there before is unchanged)"
        ) from None


class AtomicFile:
    """A file that is written piece by piece into `stream`, next to its place, to which `keep` moves it.

    A device or a pipe is written to directly. Raises UserError where the file cannot be written.
    """

    stream: BinaryIO

    def __init__(self, path: Path) -> None:
        self._path, self._target, self._temporary = path, path.resolve(), ""
        with self.errors():
            if self._target.is_dir():
                raise IsADirectoryError(21, "is a folder; a file is needed")
            if self._target.exists() and not self._target.is_file():
                self.stream = self._target.open("wb")
            else:
                handle, self._temporary = tempfile.mkstemp(
                    prefix=f".{self._target.name}.", suffix=".part", dir=self._target.parent
                )
                self.stream = os.fdopen(handle, "wb")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the system's errors of writing into a UserError."""
        try:
            yield
        except OSError as error:
            raise UserError(f"{self._path}: cannot be written: {error.strerror or error}") from None

    def keep(self) -> int:
        """Complete the file and put it in its place; return its size in bytes."""
        with self.errors():
            self.stream.flush()
            size = self.stream.tell() if self._temporary else 0
            self.stream.close()
            if self._temporary:
                os.chmod(self._temporary, 0o666 & ~_umask())
                os.replace(self._temporary, self._target)
        return size

    def discard(self) -> None:
        """Leave the former file as it was."""
        if self._temporary:
            Path(self._temporary).unlink(missing_ok=True)


def folder(path: Path) -> Path:
    """Make a folder for output if it does not exist; return its path. Raise UserError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be made a folder for output: {error.strerror or error}") from None
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Which folders hold compiled code: the user's cache folder, else one of the user's own among the temporary files.

Machine code is loaded from them, so whoever can write there runs code as this user. Everything below them is made for
this user alone (0700, 0600), whatever the umask. Before a file is read, every level is checked through its descriptor:
the folder's parents, the folder, each folder below it, the file. Each must belong to this user or the system, and no
other user may write to it. The second folder has a name that anybody could have taken before, so it must be closed
to all others, too. Checking paths alone was refused: between the check and the reading, a path can change.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EPERM
from functools import cache
from pathlib import Path

from gpusim.base.progress import current_reporter

FOLDER_MODE, FILE_MODE = 0o700, 0o600
_HINT = "GPUSIM_CACHE_DIR names another folder"

_refused: dict[Path, str] = {}  # folders that cannot be written to, each with the reason
_tried: set[Path] = set()  # folders that this process has seen to be writable


def chosen() -> Path | None:
    """Return the user's cache folder; None if the system knows of no home."""
    return _chosen(os.environ.get("GPUSIM_CACHE_DIR") or "")


@cache
def _chosen(base: str) -> Path | None:
    if not base:
        import platformdirs

        try:
            base = platformdirs.user_cache_dir("gpusim", appauthor=False)
        except RuntimeError:
            return None
        if not os.path.isabs(base):  # older releases leave a '~' that cannot be expanded
            return None
    return Path(base).absolute()


def temporary() -> Path | None:
    """Return the user's folder among the temporary files; None if the system has no place for those."""
    import tempfile

    try:
        return Path(tempfile.gettempdir()) / f"gpusim-{os.geteuid()}"
    except OSError:
        return None


def foreign(path: Path) -> str:
    """Say why a folder that exists is not to be trusted; '' if it belongs to this user and is closed to others."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return "is no folder"
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    return "is open to other users" if stat.S_IMODE(found.st_mode) & 0o077 else ""


def unsafe(path: Path) -> str:
    """Say why another user could have put code into a folder that exists; '' if none but the system's could have."""
    if reason := _unsafe_status(path.stat()):
        return f"it {reason}"
    for parent in path.resolve().parents:
        status = parent.stat()
        if not status.st_mode & stat.S_ISVTX and (
            reason := _unsafe_status(status)
        ):  # sticky: entries are their owners'
            return f"{parent} {reason}"
    return ""


def _unsafe_status(status: os.stat_result) -> str:
    """Say why another user could have changed a folder or a file, from its status; '' if none could have."""
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user (number {status.st_uid})"
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid)):
        return "may be written to by other users (chmod go-w mends that)"
    return ""


class UntrustedFileError(OSError):
    """Another user could have written the file, or a folder on the way to it."""


@contextmanager
def opened(place: Path, name: str) -> Iterator[int]:
    """Open a file or folder below `place`, and check each level on the way through its descriptor.

    Args:
        place: One of the folders of `readable`.
        name: Relative path, of plain names and slashes.

    Yields:
        A descriptor for reading.

    Raises:
        UntrustedFileError: Another user could have written what is opened, or a level above it.
        OSError: There is no such file, or a link is on the way.
    """
    descriptors = [os.open(place, os.O_RDONLY | os.O_DIRECTORY)]
    try:
        for step in Path(name).parts:
            descriptors.append(os.open(step, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptors[-1]))
            if reason := _unsafe_status(os.fstat(descriptors[-1])):
                raise UntrustedFileError(EPERM, reason, str(place / name))
        yield descriptors[-1]
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def read(place: Path, name: str) -> bytes:
    """Return the content of a file below `place`; raise what `opened` raises."""
    with opened(place, name) as descriptor, open(descriptor, "rb", closefd=False) as file:
        return file.read()


def is_trusted(place: Path, name: str) -> bool:
    """Tell whether a file or folder lies below `place` that no other user could have written; say so of others."""
    try:
        with opened(place, name):
            return True
    except UntrustedFileError as error:
        note_untrusted(error)
    except OSError:
        pass
    return False


def note_untrusted(error: UntrustedFileError) -> None:
    """Say that a file is not loaded, and why."""
    current_reporter().say_once(f"gpusim: {error.filename} is not loaded: it or its folder {error.strerror}")


def make_folder(place: Path, name: str) -> Path:
    """Make a folder below `place` for this user alone, with those above it, and return its path."""
    path = place
    for step in Path(name).parts:
        path /= step
        with suppress(FileExistsError):
            path.mkdir(mode=FOLDER_MODE)
    return path


def close(folder: Path) -> None:
    """Close a folder that another program has filled, and all in it, to other users, whatever the umask."""
    for path in (folder, *folder.rglob("*")):
        with suppress(OSError):  # another process has removed it
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode & ~FOLDER_MODE and not path.is_symlink():
                path.chmod(mode & FOLDER_MODE)


def _is_private(group: int) -> bool:
    """Tell whether a group is the system's or has this user alone, as the user's own group on most systems."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return set(found.gr_mem) <= {user} and (found.gr_name == user or group == 0)


def readable() -> Iterator[Path]:
    """Yield the folders in which compiled code may lie, in order of precedence."""
    first = chosen()
    with suppress(OSError):  # there is none
        if first is not None:
            if reason := unsafe(first):
                _refused[first] = reason
            else:
                yield first
    second = temporary()
    with suppress(OSError):  # there is none
        if second is not None and second != first and not foreign(second):
            yield second


def note_use(place: Path) -> None:
    """Say that compiled code was found in `place`, unless that is the user's cache folder."""
    if place != (first := chosen()) and place not in _tried:
        where = "no home folder is known" if first is None else f"{first} has none that is whole"
        if first in _refused:
            where = f"{first} is not used: {_refused[first]}"
        current_reporter().say_once(f"gpusim: compiled code is loaded from {place}: {where}; {_HINT}")


def refuse(place: Path, error: Exception) -> None:
    """Note that `place` could not be written to, and why."""
    reason = (getattr(error, "strerror", None) or str(error)).removesuffix(" (what was there before is unchanged)")
    _refused[place] = reason


def writable() -> Path | None:
    """Return the folder in which compiled code is kept, None if there is none; say so if it is not the first one."""
    first, second = chosen(), temporary()
    if first is not None and _takes_files(first):
        return first
    reason = "no home folder is known" if first is None else f"it cannot be kept in {first}: {_refused[first]}"
    if second is not None and second != first and _takes_files(second, private=True):
        current_reporter().say_once(f"gpusim: compiled code is kept in {second}: {reason}; {_HINT}")
        return second
    further = f"; {second}: {_refused[second]}" if second in _refused and second != first else ""
    current_reporter().say_once(f"gpusim: compiled code is not kept, each start compiles: {reason}{further}; {_HINT}")
    return None


def _takes_files(place: Path, private: bool = False) -> bool:
    """Tell whether files can be written in `place`, made if need be. private: if it is closed to others, too."""
    if place in _refused or place in _tried:
        return place not in _refused
    import tempfile

    try:
        if private:
            place.mkdir(mode=FOLDER_MODE, exist_ok=True)
            if reason := foreign(place):
                _refused[place] = reason
                return False
        else:
            with suppress(FileExistsError):  # a parent that is no folder: the next line says so
                place.parent.mkdir(parents=True, exist_ok=True)
            place.mkdir(mode=FOLDER_MODE, exist_ok=True)
            if reason := unsafe(place):
                _refused[place] = reason
                return False
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        refuse(place, error)
        return False
    _tried.add(place)
    return True

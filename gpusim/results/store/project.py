"""The user's project: `gpusim.toml`, and the store that commands use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError, nearest

STORE_NAME = "gpusim.db"
PROJECT_FILE = "gpusim.toml"
THE_PROJECTS = ""  # --store without a file
# section → key → what it is
KEYS = {"store": {"path": "the store that commands write to, from the file's own folder"}}


def project_store() -> Path | None:
    """Return the store that the nearest `gpusim.toml`, here or above, names; None without one. Raises UserError."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        file = folder / PROJECT_FILE
        if file.is_file():
            return _named_in(file)
    return None


def store_to_write(name: str | None) -> Path | None:
    """Return the store that a run writes to; None if it writes to none.

    name: what follows --store, THE_PROJECTS if nothing does; None: the option was not given.
    """
    if name:
        return Path(name).expanduser()
    named = project_store()
    return named if named is not None or name is None else Path(STORE_NAME)


def store_to_read(asked: str | None) -> Path:
    """Return the store that a command reads."""
    return store_to_write(asked if asked is not None else THE_PROJECTS) or Path(STORE_NAME)


def _named_in(file: Path) -> Path | None:
    import tomllib  # where there is a project: few starts need it

    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    for section, held in values.items():
        _check_key(file, section, KEYS)
        if not isinstance(held, Mapping):
            raise UserError(f"{file}: {section}: must be a section, as in [{section}]")
        for key in held:
            _check_key(file, key, KEYS[section], f"{section}.")
    path: Any = values.get("store", {}).get("path")
    if path is not None and (not isinstance(path, str) or not path):
        raise UserError(f"{file}: store.path: {path!r} is not allowed: must be a file's path")
    return None if path is None else file.parent / Path(path).expanduser()


def _check_key(file: Path, key: str, known: Mapping[str, Any], prefix: str = "") -> None:
    if key not in known:
        guess = nearest(key, known)
        hint = f"; did you mean '{prefix}{guess}'?" if guess else ""
        allowed = ", ".join(prefix + name for name in known)
        raise UserError(f"{file}: {prefix}{key}: unknown key{hint} (allowed: {allowed})")

"""The scripts that make the tables of a store, and of a file of an earlier version one of this.

A script (`migrations/N.sql`) takes a file from version N - 1 to N and is never changed once released: a new version is
a new script. A test holds a store made by each earlier version to the tables of a new one, and `docs/results.md`, which
says what each table and column holds, to these.
"""

from functools import cache
from pathlib import Path

APPLICATION_ID = 0x67707573  # "gpus", in the file's header: what tells a store from other SQLite files
_SCRIPTS = Path(__file__).parent / "migrations"


@cache
def scripts() -> tuple[str, ...]:
    """Return the migration scripts in order; the first one makes a store of version 1 from an empty file."""
    files = sorted(_SCRIPTS.glob("*.sql"), key=lambda file: int(file.stem))
    return tuple(file.read_text(encoding="utf-8") for file in files)


def version() -> int:
    """Return the version of stores that this gpusim writes."""
    return len(scripts())

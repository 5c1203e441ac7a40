"""Errors that a user caused and can correct: one clear line and exit code 2, never a traceback."""

import difflib
from collections.abc import Iterable

EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT


class UserError(Exception):
    """Bad input; the message is one line that says where, what, and what is allowed."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))  # input quoted in a message may hold line ends


class MissingExtraError(UserError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install 'gpusim[{extra}]'")


def nearest(name: str, valid: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The valid name that `name` was probably meant to be; cutoff: how alike they must be, 1 for equal."""
    by_folded = {v.lower(): v for v in valid}
    found = difflib.get_close_matches(str(name).lower(), list(by_folded), n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> str:
    """'unknown layer 'X'; did you mean 'Y'? (allowed: ...)'."""
    names = list(valid)
    guess = nearest(name, names)
    hint = f"; did you mean '{guess}'?" if guess else ";"
    return f"unknown {kind} '{name}'{hint} allowed: {', '.join(names)}"

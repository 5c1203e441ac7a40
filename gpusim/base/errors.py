"""The errors that gpusim raises on purpose: what a user can correct, and what the simulation found wrong in itself."""

import difflib
from collections.abc import Iterable

from gpusim.base.installation import install_command

EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT


class GpusimError(Exception):
    """Every error that gpusim raises on purpose; any other exception is a defect of gpusim."""


class SimulationError(GpusimError):
    """The simulation failed, through no input that could be corrected: exit code 1."""


class UserError(GpusimError):
    """Bad input: exit code 2. `problems`: a line for each thing wrong, with where, what, and what is allowed."""

    def __init__(self, message: str, *more: str) -> None:
        # input quoted in a message may hold line ends
        self.problems = tuple(" ".join(text.splitlines()) for text in (message, *more))
        super().__init__(*self.problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)


class MissingExtraError(UserError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': {install_command(extra)}")


def nearest(name: str, valid: Iterable[str], cutoff: float = 0.5) -> str | None:
    """Return the valid name that `name` was probably meant to be.

    Args:
        name: name that is unknown.
        valid: names that are known.
        cutoff: how alike both must be; 1: equal.

    Returns:
        The nearest name, or None.
    """
    by_folded = {v.lower(): v for v in valid}
    found = difflib.get_close_matches(str(name).lower(), list(by_folded), n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> str:
    """Return a message such as 'unknown layer 'X'; did you mean 'Y'? allowed: ...'.

    Args:
        kind: what is named, in words.
        name: name that is unknown.
        valid: names that are known.

    Returns:
        The message.
    """
    names = list(valid)
    guess = nearest(name, names)
    hint = f"; did you mean '{guess}'?" if guess else ";"
    return f"unknown {kind} '{name}'{hint} allowed: {', '.join(names)}"

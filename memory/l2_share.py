"""What of L2 caches lines while the compaction engine has a share of it: of its sets, or of its ways.

By sets, a line's index has fewer bits, so that what is left is a power of two of sets, and every line has another set
than before. By ways, sets stay as they are and each has fewer ways: the share may be any number of ways but all.
"""

from typing import NamedTuple

from gpusim.base.formats import GENERAL

SETS, WAYS = "sets", "ways"
L2_PARTITIONS = {
    SETS: "sets of all ways: 0, 1/2, 3/4 and so on",
    WAYS: "ways of all sets: any number of them but all",
}


class L2Share(NamedTuple):
    """A fraction of L2 that caches nothing, from 0 to less than 1, and which dimension of it is divided."""

    fraction: float
    """From 0 to less than 1."""
    by: str
    """Dimension that is divided, a name of L2_PARTITIONS."""


def sets_and_ways_left(sets: int, ways: int, taken: L2Share | None) -> tuple[int, int]:
    """Return the sets and ways of a channel that cache lines.

    Args:
        sets: Sets of a channel.
        ways: Ways of a set.
        taken: The share that caches nothing; None: none.

    Raises:
        ValueError: The share leaves no such cache; the message names those that do.
    """
    if taken is None or taken.fraction == 0:
        return sets, ways
    if taken.by == SETS:
        left = sets * (1 - taken.fraction)
        if left < 1 or left != int(left) or int(left) & (int(left) - 1):
            shares = ", ".join(GENERAL(1 - 1 / 2**n) for n in range(min(4, sets.bit_length())))
            raise ValueError(
                f"{GENERAL(taken.fraction)} of L2's {sets} sets a channel leaves {GENERAL(left)}, not a power of two "
                f"of them: l2_share {shares} ... do, or with l2_partition '{WAYS}' any whole number of ways"
            )
        return int(left), ways
    gone = taken.fraction * ways
    if abs(gone - round(gone)) > 1e-6 or round(gone) >= ways:
        raise ValueError(
            f"{GENERAL(taken.fraction)} of L2's {ways} ways is {GENERAL(gone)} of them: l2_share is a whole number of "
            f"ways, from 0 to {ways - 1}/{ways} = {GENERAL((ways - 1) / ways)}"
        )
    return sets, ways - round(gone)

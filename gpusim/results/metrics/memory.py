"""The levels of cache, and the metrics that each of them has: transactions and hit rate."""

from gpusim.model.core.levels import ABOVE_L2, BETWEEN, L1, L2, LEVELS
from gpusim.model.core.levels import CacheLevel as CacheLevel
from gpusim.results.metrics.metric import Metric, quotient, total

CACHES = LEVELS
VECTOR_PATH = (L1, *BETWEEN, L2)  # the levels that a vector load may come to, in order
_HIT_RATE = "hits / transactions; a merge is not a hit"


def _rates(level: CacheLevel) -> tuple[Metric, Metric]:
    transactions = total(f"{level.section}.transactions", "accesses", level.accesses_meaning, *level.accesses)
    return transactions, quotient(f"{level.section}.hit_rate", "fraction", _HIT_RATE, "hits", *level.accesses)


MEMORY = tuple(metric for level in (*ABOVE_L2, L2) for metric in _rates(level))

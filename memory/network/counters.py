"""What the crossbar counts."""

from gpusim.base.counters import Counter, CounterTable

CROSSBAR_COUNTERS = CounterTable(
    "crossbar",
    (
        Counter("requests", "packets", "packets that first-level caches sent to L2"),
        Counter("responses", "packets", "answers that they took"),
    ),
    state="xbar",
)

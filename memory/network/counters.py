"""What the crossbar and the ports beside it count."""

from gpusim.base.counters import Counter, CounterTable

CROSSBAR_COUNTERS = CounterTable(
    "crossbar",
    (
        Counter("requests", "packets", "packets that first-level caches sent to L2"),
        Counter("responses", "packets", "answers that they took"),
    ),
    state="xbar",
)

PORT_COUNTERS = CounterTable(
    "ports",
    (Counter("overflows", "entries", "answers from DRAM or engine that found their queue full; always 0"),),
    state="ports",
)

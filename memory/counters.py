"""What the ports between L2, engine and DRAM count."""

from gpusim.base.counters import Counter, CounterTable

PORT_COUNTERS = CounterTable(
    "ports",
    (Counter("overflows", "entries", "answers from DRAM or engine that found their queue full; always 0"),),
    state="ports",
)

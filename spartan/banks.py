"""Banks and ports of the prefetch buffer: when a line can be written or read.

Accesses of a bank are served in the order in which they come. What waits to be written is in the compaction unit's
output register or behind it: DRAM brings fewer lines a cycle than there are banks, so that how long that queue may get
is not limited.
"""

from gpusim.base.jit import Machine, jit


@jit
def access_line(m: Machine, now, slot):
    """Read or write a buffer line from cycle `now` on; returns the cycle in which a port of its bank is free for it."""
    engine = m.engine
    if engine.banks == 0:
        return now
    bank = slot % engine.banks
    port = max(now * engine.bank_ports, engine.bank_next[bank])
    engine.bank_next[bank] = port + 1
    start = port // engine.bank_ports
    engine.bank_conflict_cycles += start - now
    return start

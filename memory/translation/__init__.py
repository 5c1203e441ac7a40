"""Address translation: an L1 TLB beside each first-level cache, a shared L2 TLB, page walkers."""

"""Where device memory begins."""

VIRTUAL_BASE = 0x1_0000_0000  # first valid address: a null or small pointer faults

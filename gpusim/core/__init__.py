"""The cycle-level core: dispatcher, compute units, the machine record and the run loop."""

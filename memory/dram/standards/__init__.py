"""DRAM standards as tables of sourced values, by the name that a configuration gives.

A standard describes one channel. Delays that the silicon fixes are in nanoseconds and are rounded up to command
clocks; delays that the protocol fixes are in command clocks. To add one: a `DramStandard` in the file of its family,
which ends with the names.

Why so: values are typed from standards and data sheets with their sources, so a reviewer can compare them; nothing is
scaled from another standard.
"""

from memory.dram.standards import ddr, gddr, hbm
from memory.dram.standards.standard import PER_BANK_REFRESH, DramStandard, SourcedValue

STANDARDS: dict[str, DramStandard] = {**gddr.STANDARDS, **hbm.STANDARDS, **ddr.STANDARDS}

__all__ = ["PER_BANK_REFRESH", "STANDARDS", "SourcedValue", "DramStandard"]

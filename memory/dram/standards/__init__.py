"""DRAM standards as tables of sourced values, by the name that a configuration gives.

A standard describes one channel. Delays that the silicon fixes are in nanoseconds and are rounded up to command
clocks; delays that the protocol fixes are in command clocks. To add one: a `Standard`, and a row here.
"""

from memory.dram.standards.ddr import DDR4, DDR5, LPDDR5
from memory.dram.standards.gddr import GDDR5, GDDR6
from memory.dram.standards.hbm import HBM1, HBM2, HBM3
from memory.dram.standards.standard import PER_BANK_REFRESH, Sourced, Standard

STANDARDS: dict[str, Standard] = {
    "gddr5": GDDR5,
    "gddr6": GDDR6,
    "hbm1": HBM1,
    "hbm2": HBM2,
    "hbm3": HBM3,
    "ddr4": DDR4,
    "ddr5": DDR5,
    "lpddr5": LPDDR5,
}

__all__ = ["PER_BANK_REFRESH", "STANDARDS", "Sourced", "Standard"]

"""gpusim: a cycle-level simulator of AMD GCN3 GPUs with the Spartan compaction engine.

Importing the package is cheap: the simulator's core, Numba included, is imported on first use.
"""

__version__ = "0.1.0"

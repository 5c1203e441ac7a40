"""Operands: synthetic patterns of zeros, stored activations, and how those are captured from trained networks."""

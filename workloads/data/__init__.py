"""Operands: synthetic patterns of zeros, stored activations, and how those are captured from trained networks.

Why so: operands follow from a seed and their shape alone, so that a run elsewhere has the same zeros; captured maps are
stored with their origin.
"""

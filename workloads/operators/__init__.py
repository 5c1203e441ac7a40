"""Operators: launches over operands in device memory, what they cost, and their reference in NumPy.

Why so: launches stand beside the reference that verifies them, so that no algorithm is added without one. A tolerance
for all was refused: each operator bounds its own rounding errors.
"""

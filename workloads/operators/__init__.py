"""Operators: launches over operands in device memory, what they cost, and their reference in NumPy."""

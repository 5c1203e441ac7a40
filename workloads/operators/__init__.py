"""Operators: shapes, launches with their operands in device memory, and the check against NumPy."""

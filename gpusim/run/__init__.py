"""A run from configuration to result: data, launches, simulation, comparison with NumPy."""

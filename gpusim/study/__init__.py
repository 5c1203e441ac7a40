"""Studies of many runs: sweeps over configurations, comparisons of stored results."""

"""Studies of many runs: sweeps over configurations, comparisons of stored results.

Why so: many runs need one run's interface and nothing of its inside, so this package stands above `gpusim.jobs`.
"""

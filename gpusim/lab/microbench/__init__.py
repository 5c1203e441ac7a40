"""Microbenchmarks: the model's latencies, bandwidths and rates, measured by machine code and set beside published ones.

`job` has their groups and runs them; `references` holds what is published of GCN parts.
"""

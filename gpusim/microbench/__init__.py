"""Microbenchmarks: the model's latencies, bandwidths and rates, measured by machine code and set beside published ones.

`suite` runs them all; `references` holds what is published of GCN parts.
"""

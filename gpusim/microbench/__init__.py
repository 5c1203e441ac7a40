"""Microbenchmarks: what the model's latencies, bandwidths and rates are, measured by machine code and set beside
published measurements of GCN parts. `suite.run` measures, `references` holds what is published.
"""

"""What a run counted, and every metric that follows from it.

`record` adds up the launches of a run; `metrics` is the one table of metrics: path, unit, definition, formula.
"""

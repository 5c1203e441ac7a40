"""What a run counted, and every metric that follows from it.

`record` is a run with the facts of its launches (`gpusim.model.core.facts`); `metrics` the list of metrics: path, unit,
definition, and the counter or formula that each follows from.

Why so: counts are facts and metrics are formulas over them, so that a stored run has metrics that were defined later.
"""

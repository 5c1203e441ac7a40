"""Results that stay: which store a command uses, equal work that is found in it, and results on their way into it.

`project` finds the store, `work` says what a run is asked for and `sources` by which code, `outcome` what of a result
goes into which table, `keeper` finds and keeps.
"""

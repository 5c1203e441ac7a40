"""Results that stay: equal work that is found in a store, and results on their way into it.

`work` says what a run is asked for and `sources` by which code, `outcome` what of a result goes into which table,
`keeper` finds and keeps.
"""

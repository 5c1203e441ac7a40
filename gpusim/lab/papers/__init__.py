"""A publication's figures and claims beside ours: every value of theirs is a function of runs in a store.

In reading order: `points` (which runs a figure needs), `plan` (all of them once, with what they cost), `running` (the
missing ones are run), `kept` (what of each run stays, as one file), `values` (what is measured), `claims`
(does a statement hold, and why), by `rules`; `kinds` has tables and picture of each kind of figure, `page` writes the
folder. Points that are runs of networks, whose layers are a figure's columns: `network_points`, `own` (a user's in
their place), `kept_network`, `layer_values`.
"""

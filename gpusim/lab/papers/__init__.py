"""A publication's figures and claims beside ours: every value of theirs is a function of runs in a store.

In reading order: `publication` (figures, results, the long table of values), `points` and `network_points` (which runs
a figure needs), `plan` (all of them once, with what they cost), `running` (the missing ones are run), `records` (what
is stored of each run, as one file), `values` (what is measured of products), `rules` and `claims` (does a statement
hold, and why); `figures` has the kinds of figures and reads a publication's files, `page` writes the folder. `own`
puts a user's networks, GPUs or batches in the place of a publication's.

Why so: a publication is a file of runs, figures and claims, so that a new one needs no code; each claim has a rule that
a run can refute. Verdicts by eye were refused: nobody can repeat them.
"""

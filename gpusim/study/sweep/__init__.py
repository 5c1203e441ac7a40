"""Sweeps: many runs of one configuration with some of its values varied, each stored as soon as it has ended.

`points` chooses the points and leaves out what cannot be, `search` asks for points by what `objectives` come to at
earlier ones; those also say which are best. `tasks` (`network_tasks`) makes a point's work of it. `executor` says how
work is done somewhere, chooses where, and does it in processes of this machine; `cluster` has it done by workers, each
of which is a `worker` with a process that runs points. `running` goes from a specification to a store with all points
in it, `script` does so for scripts.

Why so: each point is stored as soon as it has ended, so that an interrupt or a failed point costs no other. A point
runs in a process forked from one that holds the compiled core, since a process that has threads, as a cluster's worker
has, may not fork safely.
"""

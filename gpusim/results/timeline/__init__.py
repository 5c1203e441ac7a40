"""Timelines of simulated launches and of trainings, for the Perfetto viewer: what is recorded, decoded and written.

Why so: events are recorded in a window alone, from a short time before it on, and written while the launch runs: a
trace of everything would be as large as the run is long. Results are the same with a timeline and without.
"""

"""Checks of the simulator itself: its speed, its sampling, its estimates.

Why so: what the simulator promises of itself is measured by commands that a user can repeat, and not by tests, whose
time is short.
"""

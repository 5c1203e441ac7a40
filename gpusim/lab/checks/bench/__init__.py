"""The speed benchmark of the simulator itself: cases that load one part of the machine each, and their history.

Why so: a case loads one part of the machine, so that a slower release names the part. One kernel was measured before:
it did not show what had become slower.
"""

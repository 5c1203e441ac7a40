"""Estimates fitted to stored launches, and checked against shipped runs.

Why so: each network is estimated by a fit that has not seen it, since errors of a fit on its own examples say little.
"""

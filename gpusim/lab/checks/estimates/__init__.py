"""Estimates fitted to stored launches, and checked against shipped runs."""

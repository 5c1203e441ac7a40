"""Timelines of simulated launches, for the Perfetto viewer: what is recorded, decoded and written."""

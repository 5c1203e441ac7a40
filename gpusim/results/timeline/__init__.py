"""Timelines of simulated launches and of trainings, for the Perfetto viewer: what is recorded, decoded and written."""

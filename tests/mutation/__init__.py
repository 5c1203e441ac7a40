"""Mutations of the timing core: deliberate errors, and which tests notice them (`python -m tests.mutate`)."""

"""Mutations: deliberate errors, which tests judge them and which notice them (`python -m tests.mutate`)."""

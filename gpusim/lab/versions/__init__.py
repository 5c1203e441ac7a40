"""The model's version behind a recorded figure: its parts, which versions are equal, how old a figure is.

Why so: hashes of what sources compute, by part, tell which figures a change can move; one hash of all sources was
refused, as each comment made every figure old.
"""

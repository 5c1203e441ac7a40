"""A run as results keep it: facts of its launches, what bounded them, its exit code.

Why so: records are plain data: they import no instruction set, workload or configuration, so that a result is read
again without what made it.
"""

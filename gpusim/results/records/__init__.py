"""A run as results keep it: facts of its launches, what bounded them, its exit code."""

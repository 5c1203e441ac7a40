"""A run from configuration to records: jobs of every kind, and the one path that all of them take.

Why so: kinds of jobs are listed by name and imported when they are used, so that a start pays for one kind alone and
the laboratory adds kinds of its own. A result is stored by whoever asked for it, never by a job.
"""

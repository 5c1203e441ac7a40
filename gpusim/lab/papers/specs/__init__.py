"""The files of a publication, checked: runs, figures, claims.

Why so: publications are data that users write too, so each key is checked, with its source, before anything runs.
"""

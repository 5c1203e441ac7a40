"""The store: one SQLite file with runs, networks, layers, launches and metrics, and who may read and write it.

`schema` says what each table and column holds and how a file of an earlier version becomes one of this (`migrations`
has a script for each version, never changed once released); `file` opens and writes; `reading` asks; `project` knows
which store a user's folder has. What is put into it of a result is decided above; nothing here knows
a GPU.
"""

"""The store: one SQLite file with runs, networks, layers, launches and metrics, and who may read and write it.

`schema` says what each table and column holds and how a file of an earlier version becomes one of this (`migrations`
has a script for each version, never changed once released); `file` opens and writes; `reading` asks. What is put into
it of a result is the business of `gpusim.keeping`; nothing here knows a GPU.
"""

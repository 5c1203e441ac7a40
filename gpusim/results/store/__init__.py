"""The store: results that stay in one SQLite file, where equal work is found again.

`file` opens and writes, and makes a file of an earlier release one of this (`migrations` has a script for each, never
changed once released); `reading` asks; `project` knows which store a user's folder has. `work` says what a run is asked
for and by which code, `outcome` what of a result goes into which table, `keeper` finds and keeps, `records` reads a run
as it was.

Why so: one SQLite file can be copied, and other tools can ask it in SQL (decision 4); a server and an object-relational
mapper were refused.
"""

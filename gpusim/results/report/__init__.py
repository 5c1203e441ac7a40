"""What a user sees of a result and of a machine: tables, plain lines, JSON, the machine as a graph.

`document` makes a result's JSON object, `result` reads one: everything below shows what it read. `screen` is what a run
prints, `details` its `sections` with what the `rules` say (`rule`, `measures`), `terminal` both on a stream (`layout`).

Why so: all views read the JSON object, so a stored file shows what the run showed.
"""

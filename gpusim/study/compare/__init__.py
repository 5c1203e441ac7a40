"""Runs side by side: what changed, biggest first, and what moved with it.

`sides` reads runs of a store and JSON files, `rules` is the table of what may explain a change, `comparison` applies it
to the parts that the sides have in common, `text` prints that.

Why so: explanations of a change are rows of a table with their conditions, so that each can be tested with a case that
fires and one that does not.
"""

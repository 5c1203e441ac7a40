"""Runs side by side: what changed, biggest first, and what moved with it.

`sides` reads runs of a store and JSON files, `rules` is the table of what may explain a change, `comparison` applies it
to the parts that the sides have in common, `text` prints that.
"""

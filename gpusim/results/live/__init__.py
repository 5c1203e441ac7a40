"""The live view: a page on the loopback interface that shows a run while it runs.

Why so: the server is a process of its own, so that it answers while compiled code runs, and so that no thread exists
when the run forks processes. The run never waits for a reader: a message that does not fit is dropped.
"""

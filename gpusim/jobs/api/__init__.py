"""The interface for scripts: a device, its arrays, code objects, launches, queues of them, and their results.

Used through the names that `gpusim` exports, beginning with `gpusim.Device`.

Why so: a script's errors are exceptions with one line and no traceback of gpusim's parts, and each call checks its
arguments before it allocates or simulates. Metrics are attributes of a result by their paths, so that a script and a
report name them alike.
"""

"""The interface for scripts: a device, its arrays, code objects, launches, queues of them, and their results.

Used through the names that `gpusim` exports, beginning with `gpusim.Device`.
"""

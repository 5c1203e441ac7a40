"""The laboratory's commands: a file each.

Why so: the commands are registered as the simulator's own are, by `gpusim.lab.extension`; the command line knows none
of them by name.
"""

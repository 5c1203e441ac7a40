"""The laboratory's commands: a file each."""

"""The command line: one module for each command; `main` reads the arguments."""

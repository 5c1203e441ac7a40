"""Configuration: files and command line in, one checked, immutable object out.

Why so: types are strict (true is no number, 1.5 no count), an unknown key is an error that names the nearest, and each
default states its source: a misspelt value that runs with the default would be a wrong result.
"""

"""Configuration: files and command line in, one checked, immutable object out."""

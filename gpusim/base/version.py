"""The version of gpusim: the one place."""

__version__ = "0.1.0"

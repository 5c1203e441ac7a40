"""The version of gpusim: the one place."""

__version__ = "0.2.0"

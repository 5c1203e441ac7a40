"""The version of gpusim: the one place. `.dev0`: what comes after the last version of the changelog."""

__version__ = "0.3.0.dev0"

"""The error of building kernels."""


class KernelBuildError(Exception):
    """No usable compiler, or a source that does not build; the message says which and why."""

"""Machines of a few parts of the whole, each a record of another layout that compiled functions have to take."""

from gpusim.jit import JIT_DISABLED, registered


def allow_further_layouts() -> None:
    """Have functions compiled for whatever record they meet: what compiles the core ends that."""
    if not JIT_DISABLED:
        for function in registered("timing"):
            function.dispatcher.disable_compile(False)

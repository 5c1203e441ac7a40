"""How much memory the simulator itself takes on the host."""

import sys


def peak_memory_mb() -> float | None:
    """Largest resident memory of the process so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)

"""What a run counted, and every metric that follows from it.

`record` is a run with the facts of its launches (`gpusim.core.facts`); `metrics` the list of metrics: path, unit,
definition, and the counter or formula that each follows from.

A script asks a store of runs by `gpusim.results.open(path)`.
"""

TYPE_CHECKING = False  # as in `typing`, whose import takes time
if TYPE_CHECKING:
    from pathlib import Path

    from gpusim.store.reading import Results


def open(path: "str | Path | None" = None) -> "Results":
    """A store of runs that is asked: its tables as dicts, for pandas and for polars; docs/results.md shows it.

    path: None: what `gpusim.toml` names, or `gpusim.db`. Raises UserError where there is no store that can be read.
    """
    from gpusim.store.project import store_to_read
    from gpusim.store.reading import Results

    return Results(store_to_read(None if path is None else str(path)))

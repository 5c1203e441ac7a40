"""A result for pandas and as a picture: a frame with an index, and one of the report's pictures by its name."""

from collections.abc import Mapping
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.picture import Picture
from gpusim.results import metrics
from gpusim.results.metrics import leaves
from gpusim.results.report.result import read


def metrics_frame(document: Mapping[str, Any]) -> Any:
    """Return a `pandas.DataFrame`: a column for each variant, metrics by path as the index; raise UserError."""
    columns = {
        one.name or "value": {
            path: value
            for path, value in leaves(one.tree)
            if metrics.describe(path.removesuffix(metrics.SUFFIX)) is not None and not isinstance(value, list)
        }
        for one in read(document).columns
    }
    frame = _pandas().DataFrame(columns)
    return frame.rename_axis("metric")


def rows_frame(document: Mapping[str, Any]) -> Any:
    """Return a `pandas.DataFrame` of a network's rows by variant, layer and pass; raise UserError without pandas."""
    result = read(document)
    rows = []
    for row in result.rows:
        values = {key: value for key, value in leaves(row.values) if not isinstance(value, list | Mapping)}
        measured = {key: value for key, value in leaves(row.measured.tree) if not isinstance(value, list)}
        rows.append({**({"variant": row.variant} if row.variant else {}), **values, **measured})
    frame = _pandas().DataFrame(rows)
    return frame.set_index([name for name in ("variant", "name", "pass") if name in frame.columns])


def picture_of(document: Mapping[str, Any], name: str) -> Picture:
    """Return a picture of a result's page.

    Args:
        document: the result as a JSON object.
        name: the picture's name, such as `stalls`.

    Returns:
        The picture, which `save` writes to a file.

    Raises:
        UserError: the page has no such picture; the message names the nearest.
    """
    from gpusim.results.report.page.pictures import draw_pictures

    found = {one.name: one for drawn in draw_pictures(read(document)).values() for one in drawn}
    if name not in found:
        raise UserError(f"figure: {unknown_name('picture', name, found)}")
    return found[name]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise UserError("pandas is not installed: to_dict() gives the result as plain data without it") from None
    return pandas

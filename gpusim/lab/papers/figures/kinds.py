"""Kinds of figures that few figures have: each a function, whose keyword arguments are the options of a figure's file.

Kinds that many figures have (compared, ablation, layers, layer_ratios, layer_memory) are classes.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeVar

from gpusim.base.picture import Picture
from gpusim.base.spec import param
from gpusim.base.table import Table
from gpusim.lab.papers.long_table import FigureRecord, FigureValue, list_values
from gpusim.lab.papers.publication import Figure, Publication


class FigureContent(NamedTuple):
    """What a figure shows, and the values that claims about it are judged by."""

    tables: Iterable[Table]
    """Tables in order."""
    records: Iterable[FigureRecord] = ()
    """What is known of the figure's places, whose numbers are rows of the long table."""
    picture: Picture | None = None
    """Chart; None: nothing is known, or the figure is a table."""
    values: Iterable[FigureValue] = ()
    """Further rows of the long table."""


AnyFigure = TypeVar("AnyFigure", bound=Figure)


def figure_kind(
    name: str, base: type[AnyFigure], **attributes: Any
) -> Callable[[Callable[..., FigureContent]], type[AnyFigure]]:
    """Make a function of a figure and its publication a kind of figure.

    Args:
        name: The kind in a figure's file.
        base: Its class, whose options and methods the kind has as well.
        attributes: What replaces attributes and methods of the class, such as formats, files, or check.

    Returns:
        A decorator; each keyword argument of the function, declared by `param`, is an option of the kind.
    """

    def make_kind(show: Callable[..., FigureContent]) -> type[AnyFigure]:
        parameters = inspect.signature(show).parameters.items()
        options = {option: each for option, each in parameters if each.kind is each.KEYWORD_ONLY}

        def show_with_options(figure: Figure, publication: Publication) -> FigureContent:
            return show(figure, publication, **{option: getattr(figure, option) for option in options})

        def show_values(figure: Figure, publication: Publication) -> Iterator[FigureValue]:
            content = show_with_options(figure, publication)
            return chain(list_values(content.records), content.values)

        namespace = {
            "__module__": show.__module__,
            "__doc__": show.__doc__,
            "__annotations__": {"kind": Literal[name], **{option: each.annotation for option, each in options.items()}},
            "kind": param(name, "what is shown", ""),
            **{option: each.default for option, each in options.items()},
            "tables": lambda figure, publication: iter(show_with_options(figure, publication).tables),
            "records": lambda figure, publication: show_with_options(figure, publication).records,
            "values": show_values,
            "picture": lambda figure, publication: show_with_options(figure, publication).picture,
        }
        metaclass: Any = type(base)
        kind: type[AnyFigure] = metaclass(show.__name__, (base,), namespace | attributes)
        return kind

    return make_kind


def with_width(record: FigureRecord, measure: str, write: Callable[[float], str]) -> str:
    """Return a record's value with its half-width, if it has one, as text. write: the format of both."""
    width = record.half_widths.get(measure, 0.0)
    return f"{write(record.values[measure])} ± {write(width)}" if width else write(record.values[measure])

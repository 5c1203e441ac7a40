"""Reading a publication: its file, and a file for each of its figures."""

from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model

from gpusim.base.errors import UserError, nearest, unknown_name
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.tree import ConfigTree
from gpusim.lab.papers.figures.ablation import AblationFigure
from gpusim.lab.papers.figures.breakdown import show_breakdown
from gpusim.lab.papers.figures.compared import ComparisonFigure
from gpusim.lab.papers.figures.fastest_passes import show_iterations
from gpusim.lab.papers.figures.instructions import show_instructions
from gpusim.lab.papers.figures.layer_memory import LayerMemoryFigure
from gpusim.lab.papers.figures.layer_ratios import RatiosFigure
from gpusim.lab.papers.figures.layers import BarsFigure, show_stack
from gpusim.lab.papers.figures.learning import show_learning
from gpusim.lab.papers.figures.maps import show_break_even, show_map
from gpusim.lab.papers.figures.monitored import show_closed_loop, show_curves, show_monitor, show_overheads
from gpusim.lab.papers.figures.seconds_to_accuracy import show_seconds_to_accuracy
from gpusim.lab.papers.figures.tables import show_area, show_grids, show_launches, show_libraries
from gpusim.lab.papers.figures.trained import show_flow_stages, show_scaling, show_stages
from gpusim.lab.papers.figures.training import show_training
from gpusim.lab.papers.publication import Figure, Reproduction
from gpusim.lab.papers.specs.reproduction import FOLDER, ReproductionSpec

OF_PRODUCTS = (ComparisonFigure, AblationFigure, show_breakdown, show_map, show_break_even, show_training)
OF_LAYERS = (BarsFigure, RatiosFigure, LayerMemoryFigure, show_stack, show_seconds_to_accuracy, show_iterations)
OF_NETWORKS = (show_launches, show_instructions, show_stages, show_scaling, show_flow_stages)
OF_RECORDINGS = (show_curves, show_learning, show_monitor, show_overheads, show_closed_loop, show_libraries)
KINDS = (*OF_PRODUCTS, *OF_LAYERS, *OF_NETWORKS, *OF_RECORDINGS, show_area, show_grids)
_ANY_KIND: Any = Annotated[reduce(or_, KINDS), Field(discriminator="kind")]
_FigureOnly: Any = create_model("_FigureOnly", __base__=Spec, figure=(_ANY_KIND, param(..., "the figure", "user")))


def load_reproduction(name: str) -> Reproduction:
    """Load a publication's file, or a shipped one by name, with all its figures; raise UserError."""
    document = files.opened(name, FOLDER)
    files.require(document, FOLDER)
    path = document.path
    spec = checked(ReproductionSpec, _tree(path, document.data))
    if spec.runs is not None:
        spec = spec.model_copy(update={"runs": spec.runs.located(path)})
    files_ = {figure: path.with_suffix("") / f"{figure}.yaml" for figure in spec.figures}
    figures = {figure: _load_figure(file) for figure, file in files_.items()}
    for figure, file in files_.items():
        try:
            figures[figure].check(spec, figures)
        except UserError as error:
            raise UserError(*(f"{file}: {problem}" for problem in error.problems)) from None
        figures[figure] = figures[figure].located(file)
    _check_answers(path, spec, figures)
    changing = [name for name, figure in figures.items() if isinstance(figure, AblationFigure)]
    for name in spec.spread:
        if name not in changing:
            raise UserError(f"{path}: spread: {unknown_name('figure of changes', name, changing)}")
    return Reproduction(path.stem, spec, figures)


def _tree(path: Path, data: dict[str, Any], *keys: str) -> ConfigTree:
    tree = ConfigTree(origins={(): (str(path), ())}, files=[path])
    tree.merge(data, str(path), keys)
    return tree


def _load_figure(path: Path) -> Figure:
    if not path.is_file():
        guess = nearest(path.stem, [file.stem for file in path.parent.glob("*.yaml")])
        raise UserError(f"{path}: there is no such figure" + (f"; did you mean '{guess}'?" if guess else ""))
    figure: Figure = checked(_FigureOnly, _tree(path, files.read(path), "figure")).figure
    return figure


def _check_answers(path: Path, spec: ReproductionSpec, figures: dict[str, Figure]) -> None:
    names = [claim.name for figure in figures.values() for claim in figure.claims if claim.name]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path}: two claims are called '{name}'")
    own = [part for sentence in spec.summary for part in sentence.parts if not part.publication]
    for key, parts in (("answers", spec.answers), ("summary", own)):
        for answer in parts:
            if answer.claim not in names:
                raise UserError(f"{path}: {key}: {unknown_name('claim', answer.claim, names)}")
    if spec.summary_picture and spec.summary_picture not in figures:
        raise UserError(f"{path}: summary_picture: {unknown_name('figure', spec.summary_picture, figures)}")

"""Versions of figures as plain data of a file: each model once, by its name, and for each point what is its own."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpusim.base.errors import UserError
from gpusim.lab.versions.model import OWN, SOURCES, UNRECORDED, FigureVersion, Hashes, name_model

Models = Mapping[str, Hashes]
"""Hashes of models by their names."""
StoredVersion = dict[str, str | list[str]] | None
"""A version as files have it; None: recorded before there were versions."""


def encode_models(versions: Iterable[FigureVersion]) -> dict[str, Hashes]:
    """Return the models of versions by name, as a file has them."""
    return {version.name: version.model for version in versions if version.name}


def encode_version(version: FigureVersion) -> dict[str, Any]:
    """Return a version as plain data that names its model."""
    if not version.name:
        return dict(version.model)
    return {"model": version.name, "uses": list(version.uses), **version.own}


def parse_models(data: Any, source: str = "the file") -> Models:
    """Return the models of a file.

    Args:
        data: The file's content.
        source: Where it comes from, for errors.

    Raises:
        UserError: A model is not what its name says.
    """
    models: dict[str, Hashes] = dict(data)
    for name, model in models.items():
        if name_model(model) != name:
            raise UserError(f"{source}: model {name}: its parts are those of {name_model(model)}")
    return models


def parse_version(
    data: Mapping[str, Any] | None, models: Models, sources: str = "", source: str = "the file"
) -> FigureVersion:
    """Return a point's version.

    Args:
        data: As in the file; None: recorded before there were versions.
        models: The file's models.
        sources: Hash of the sources that an earlier file has instead.
        source: Name of the file.

    Returns:
        The version.

    Raises:
        UserError: The file does not have the model that is named.
    """
    if data is None or "model" not in data:
        named = (data or {}).get(SOURCES, sources)
        return FigureVersion({SOURCES: named}) if named else UNRECORDED
    if data["model"] not in models:
        raise UserError(f"{source}: model {data['model']} is not among the file's models")
    return FigureVersion(
        models[data["model"]], tuple(data.get("uses", ())), {part: data[part] for part in OWN if part in data}
    )

"""Some launches of a program's result as a result of their own (`--only`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.launch_selector import LaunchIdentity, LaunchSelector, ProgramLine
from gpusim.results.records.rebuilt import rebuild_record
from gpusim.results.report.document import document as build_document
from gpusim.results.report.lanes import command_columns, read_commands
from isa.object.names import short

_BY_INSTRUCTION = ("access_patterns", "hotspots")  # known of all launches of a kernel together


def select_launches(document: Mapping[str, Any], selector: LaunchSelector, source: str) -> dict[str, Any]:
    """Return the result of the selected launches: of one launch as of a run, of several with a row for each kernel.

    What is known of the whole program alone is left out: times of the host, streams, copies, counters over time. The
    timeline has the kernels of several selected launches, at the program's times. Instructions with their access
    patterns are counted by kernel, so they stay where all launches of a kernel are selected.

    Args:
        document: JSON object of a program's result.
        selector: Selects the launches.
        source: Where the result comes from, for messages.

    Returns:
        JSON object of the result; the whole one for a selector without conditions.

    Raises:
        UserError: The result is of no program, no launch is selected, or several sampled ones are.
    """
    if not selector.conditions:
        return dict(document)
    identities = _identify_launches(document, source)
    pairs = list(zip(identities, document["launches"], strict=True))
    chosen = [launch for identity, launch in pairs if selector.selects(identity)]
    if not chosen:
        raise UserError(f"{source}: --only {selector.explain_nothing(identities)}")
    about = {"kind": document["kind"], "remarks": [_describe(chosen, len(pairs), selector)]}
    if len(chosen) == 1:
        (launch,) = chosen
        kept = ("schema_version", "partial", "stopped_by", "config", "config_hash")
        head = {key: document[key] for key in kept if key in document}
        result = {**head, **about, **launch, "launches": [launch]}
    else:
        if any(launch.get("sampling") for launch in chosen):
            raise UserError(
                f"{source}: --only {', '.join(selector.conditions)}: half-widths of sampled launches are not summed up"
                " anew: select one launch"
            )
        record = rebuild_record(document, chosen, source)
        record.partial, record.stopped_by = document["partial"], document.get("stopped_by", "")
        result = build_document(document["config"], [record], about=about)
        result |= _commands(document, [identity for identity in identities if selector.selects(identity)])
    return result | _by_instruction(document, chosen)


def _identify_launches(document: Mapping[str, Any], source: str) -> list[LaunchIdentity]:
    """Return the launches of a program's result.

    Args:
        document: JSON object of the result.
        source: Where it comes from, for messages.

    Returns:
        The launches in their order.

    Raises:
        UserError: The result is of no program, or its launches were not kept.
    """
    launches = document.get("launches") or ()
    if "exit_code" not in document or not all("launch" in launch for launch in launches):
        raise UserError(f"{source}: launches are selected in results of programs (gpusim hip); this one is of none")
    places = [launch["launch"] for launch in launches]
    return [
        LaunchIdentity(
            place["kernel"], place.get("number", index), place.get("stream", 0), short(place["kernel"]), _line(place)
        )
        for index, place in enumerate(places, 1)
    ]


def _line(place: Mapping[str, Any]) -> ProgramLine | None:
    line = place.get("line")
    return None if line is None else ProgramLine(line["file"], line["line"], line["function"])


def _describe(chosen: Sequence[Mapping[str, Any]], launches: int, selector: LaunchSelector) -> str:
    text = f"only {', '.join(selector.conditions)}: {len(chosen)} of {launches} launches"
    if len(chosen) > 1:
        return text
    place = chosen[0]["launch"]
    sizes = " × ".join(map(str, place["global_size"])), " × ".join(map(str, place["local_size"]))
    return f"{text}: {sizes[0]} work-items in workgroups of {sizes[1]}, stream {place.get('stream', 0)}"


def _commands(document: Mapping[str, Any], chosen: Sequence[LaunchIdentity]) -> dict[str, Any]:
    """Return the times of the selected launches, if the result has any."""
    if not document.get("commands"):
        return {}
    kernels = [command for command in read_commands(document["commands"]) if command.number]
    keys = {(identity.kernel, identity.number, identity.stream) for identity in chosen}
    return {"commands": command_columns([one for one in kernels if (one.name, one.number, one.stream) in keys])}


def _by_instruction(document: Mapping[str, Any], chosen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is counted by instruction, of the kernels of which all launches are chosen."""
    names = [launch["launch"]["kernel"] for launch in chosen]
    every = [launch["launch"]["kernel"] for launch in document["launches"]]
    whole = {name for name in names if names.count(name) == every.count(name)}
    return {
        key: [spot for spot in document[key] if spot["kernel"] in whole] for key in _BY_INSTRUCTION if key in document
    }

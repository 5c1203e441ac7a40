"""Are the keys that users' files may have those of the list, and is each that is gone read under its new name?

The list lies in config_keys.txt. A new key is added by running this file; one that is gone stays in the list until the
version that drops it, and RENAMED says what it is now.
"""

import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from gpusim.base import progress
from gpusim.base.errors import UserError
from gpusim.base.version import __version__
from gpusim.config.exec import ExecConfig
from gpusim.config.gpu import load_gpu
from gpusim.config.hip_run import HipSettings
from gpusim.config.network_run import NetworkSettings
from gpusim.config.renamed import RENAMED
from gpusim.config.run import RunConfig
from gpusim.config.sweep import SweepSpec
from gpusim.model.core.gpu_spec import GpuSpec

LIST = Path(__file__).with_name("config_keys.txt")
FILES: dict[str, type[BaseModel]] = {"gpu": GpuSpec, "run": RunConfig, "exec": ExecConfig, "net": NetworkSettings}
FILES |= {"hip": HipSettings, "sweep": SweepSpec}


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from models(part)


def keys(model: type[BaseModel], path: str, within: tuple[type[BaseModel], ...] = ()) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield f"{path}.{name}"
        for part in models(field.rebuild_annotation()):
            if part is not GpuSpec and part not in within:  # the GPU's keys are listed once
                yield from keys(part, f"{path}.{name}", (*within, part))


def found() -> list[str]:
    return sorted({key for name, model in FILES.items() for key in keys(model, name)})


def test_a_key_that_is_gone_is_in_the_table_of_renamed_ones() -> None:
    listed, there = LIST.read_text(encoding="utf-8").splitlines(), found()
    gone = [key for key in listed if key not in there and not any(f".{key}".endswith(f".{one.old}") for one in RENAMED)]
    assert gone == [], "users' files would break: add them to gpusim.config.renamed"
    assert [key for key in there if key not in listed] == [], f"new: python {Path(__file__).name} adds them"


def test_the_table_names_keys_that_there_are_and_versions_to_come() -> None:
    here = tuple(map(int, re.findall(r"\d+", __version__)[:2]))
    for one in RENAMED:
        assert any(f".{key}".endswith(f".{one.new}") for key in found()), one
        assert not any(f".{key}".endswith(f".{one.old}") for key in found()), one
        assert tuple(map(int, one.dropped.split("."))) > here, f"{one.old}: its time is over"


OLD = {
    "dram.part": ("gddr5", "dram.standard", "gddr5"),
    "l2.hash_channels": (False, "l2.channel_masks", None),
    "l2.channel_hash_bits": (0, "l2.channel_masks", None),
    "dram.channel_hash_bits": (0, "dram.channel_masks", None),
    "dram.bank_hash": (True, "dram.bank_masks", None),
}


@pytest.mark.parametrize("old", [one.old for one in RENAMED if one.values != {}])
def test_an_old_key_is_read_with_a_notice(old: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_said", set())
    value, new, becomes = OLD[old]
    section, _, key = old.partition(".")
    assert load_gpu({"base": "mi6", section: {key: value}}) == load_gpu("mi6", {new: becomes})
    said = capsys.readouterr().err
    assert f"gpusim: configuration: {old}: is gpu.{new} since " in said and said.count("\n") == 1
    assert load_gpu("mi6", {old: value}) == load_gpu("mi6", {new: becomes})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"channel_hash_bits": 2},
            r"l2.channel_hash_bits: is gpu.l2.channel_masks since 0.2.0, which has no counterpart of 2, of 0 alone",
        ),
        ({"channel_hash_bits": 0, "channel_masks": None}, r"which is given too: leave one of them out"),
    ],
)
def test_an_old_key_that_cannot_be_read_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_gpu({"base": "mi6", "l2": values})


def test_an_old_key_whose_meaning_changed_names_the_new_one() -> None:
    with pytest.raises(UserError, match=r"is gpu.dispatch.wavefront_cycles since 0.1.2, which has no counterpart of 3"):
        load_gpu({"base": "mi6", "cu": {"dispatch_interval_cycles": 3}})


if __name__ == "__main__":
    gone = [one for one in LIST.read_text(encoding="utf-8").splitlines() if one] if LIST.exists() else []
    LIST.write_text("\n".join(sorted({*gone, *found()})) + "\n", encoding="utf-8")

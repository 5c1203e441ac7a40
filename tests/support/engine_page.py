"""The table of docs/engine.md and sim_configs/engines/default.yaml: `python -m tests.support.engine_page`."""

from pathlib import Path

from gpusim.config import files
from gpusim.config.describe import annotated
from gpusim.config.engine import ENGINE_FOLDER, load_engine
from spartan.engine_spec import EngineSpec
from tests.support.pages import renewed, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engine.md"
DEFAULT = files.SHIPPED / ENGINE_FOLDER / "default.yaml"
PRESET = files.SHIPPED / ENGINE_FOLDER / "dong2020.yaml"
DEFAULT_HEAD = (
    "# The compaction engine as it is unless a configuration says otherwise: every value, its meaning and its source.\n"
)


def reasons() -> dict[str, str]:
    """Of each value of the preset's file what is said after it."""
    lines = PRESET.read_text(encoding="utf-8").splitlines()
    found = (line.partition(" # ") for line in lines if not line.startswith("#"))
    return {value.partition(":")[0]: reason for value, _, reason in found}


def differences() -> dict[str, tuple[object, object]]:
    """Values that the default and the preset have differently."""
    default, preset = EngineSpec().model_dump(), load_engine("dong2020").model_dump()
    return {name: (value, preset[name]) for name, value in default.items() if value != preset[name]}


def preset() -> str:
    """What the preset changes, and why."""
    said = reasons()
    rows = [
        [f"`{name}`", f"{default}", f"{value}", said[name]] for name, (default, value) in sorted(differences().items())
    ]
    return table(["", "default", "`dong2020`", "why"], rows)


def default_file() -> str:
    """The default engine, written out."""
    return DEFAULT_HEAD + annotated(EngineSpec())


def main() -> None:
    """Make both anew."""
    DEFAULT.write_text(default_file(), encoding="utf-8")
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), {"preset": preset}), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The answers of docs/spartan/transformers.md: those of the publication `transformers`, whose verdicts choose them."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs/transformers"


def answers() -> str:
    """The sentences of docs/transformers/README.md, which a test holds to its results."""
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("- "))


SECTIONS = {"answers": answers}

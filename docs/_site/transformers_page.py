"""The answers of results/near-memory-transformers.md: those of the publication `transformers`."""

from collections.abc import Callable

from docs._site.stored_pages import publication


def answers() -> str:
    """The sentences that the publication's verdicts choose, of its page."""
    lines = (publication("transformers") / "README.md").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("- "))


SECTIONS: dict[str, Callable[[], str]] = {"answers": answers}

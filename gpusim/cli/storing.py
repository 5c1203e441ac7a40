"""The store of a command that runs something: opened before the work, written after it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.cli.options import StoreOptions
from gpusim.store.project import store_to_write
from gpusim.store.work import Work

if TYPE_CHECKING:
    from gpusim.store.keeper import Keeper, Started
    from gpusim.store.outcome import Outcome


@contextmanager
def opened_store(options: StoreOptions, again: bool = False) -> Iterator["Keeper | None"]:
    """Open the store that the options or `gpusim.toml` name, if any; raises UserError before any work is done.

    again: the work has to be done whatever is in the store.
    """
    path = store_to_write(options.store)
    if path is None:
        if options.fresh:
            raise UserError("--fresh: says that equal work in a store does not count; --store FILE names a store")
        yield None
        return
    from gpusim.store.keeper import Keeper  # where there is a store: most starts need none

    with Keeper(path, options.fresh or again) as keeper:
        yield keeper


def begun(keeper: "Keeper | None") -> "Started | None":
    """Note when the work begins that a store keeps: now."""
    if keeper is None:
        return None
    from gpusim.store.keeper import Started

    return Started()


@contextmanager
def kept(
    keeper: "Keeper | None",
    work: Work,
    outcome: "Callable[[], Outcome]",
    started: "Started | None",
    reporter: Reporter,
) -> Iterator[None]:
    """Keep what was run; within it the result is written elsewhere. A store that fails is an error after that."""
    if keeper is None or started is None:
        yield
        return
    from gpusim.store.file import StoreError

    problem: StoreError | None = None
    try:
        reporter.say(keeper.keep(work, outcome(), started).sentence(keeper.path))
    except StoreError as error:
        problem = error
    yield
    if problem is not None:
        raise StoreError(f"{problem} (the result is not in it)")

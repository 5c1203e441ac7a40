"""Which resource is said to bound launches, and what their wavefronts are said to wait for."""

from gpusim.model.core.facts import RunFacts
from gpusim.results.records.bounds import find_bound, largest_stalls


def facts(cycles: int, roofline: dict[str, float] | None = None, stalls: dict[str, int] | None = None) -> RunFacts:
    return RunFacts.of(
        kernel={"name": "k", "cycles": cycles, "clock_ghz": 1.0}, roofline=roofline or {}, stalls=stalls or {}
    )


def test_the_bound_is_the_largest_roofline_of_a_unit_and_its_share_of_the_cycles() -> None:
    assert find_bound(facts(200, {"valu": 30.0, "l2": 50.0, "dram": 40.0, "latency": 190.0})) == ("l2", 0.25)
    assert find_bound(facts(0, {"valu": 0.0, "latency": 0.0})) == ("valu", 0.0)


def test_the_largest_stalls_are_shares_of_all_resident_cycles_without_those_of_issue() -> None:
    held = facts(9, stalls={"issued": 50, "memory_dependency": 20, "synchronization": 0, "instruction_fetch": 30})
    assert largest_stalls(held) == [("instruction_fetch", 0.3), ("memory_dependency", 0.2)]
    assert largest_stalls(held, 1) == [("instruction_fetch", 0.3)]
    assert largest_stalls(held, 9) == [
        ("instruction_fetch", 0.3),
        ("memory_dependency", 0.2),
    ]  # nobody waited at a barrier
    assert largest_stalls(facts(9, stalls={"issued": 0, "memory_dependency": 0})) == []

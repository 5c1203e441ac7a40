"""Does everything that is counted stand in a table, and reach a launch's facts once, over all instances of its unit?"""

from collections import Counter as Multiset
from collections import defaultdict
from itertools import count
from typing import Any

import numpy as np
import pytest

from gpusim.base.counters import EACH, MAX, Counter, CounterTable, Counts
from gpusim.base.jit import counter_fields, new_record
from gpusim.model.core.counters import MACHINE_TABLES, TABLES
from gpusim.model.core.cu import state
from gpusim.model.core.cu.accounts import active_now
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.model.core.facts import machine_facts
from gpusim.model.core.machine import machine_dtype
from tests.structure.state_access import ADDED, WRITTEN, machine_accesses

FieldPath = tuple[str, ...]

IN_USE = 3  # compute units, L2 channels


def path_of(table: CounterTable, counter: Counter) -> FieldPath:
    return (*table.state.split("."), counter.state_field)


COUNTED = {path_of(table, counter) for table in MACHINE_TABLES for counter in table.counters}
OF_THE_HOST = {("sides", "waited"), ("sides", "apart")}  # by which two threads share units, and nobody else reads


@pytest.mark.compiled_tier  # it reads sources
def test_what_the_core_only_adds_to_is_in_a_table() -> None:
    uses: dict[FieldPath, set[str]] = defaultdict(set)
    for access in machine_accesses():
        if access.compiled:
            uses[tuple(access.field.split("."))].add(access.use)
    only_added = {path for path, found in uses.items() if found == {ADDED}}
    assert len(only_added) > 80, "the core's source was not understood"
    assert only_added - COUNTED == OF_THE_HOST
    # a span is written: L1 and L2 keep when theirs began
    assert [path for path in COUNTED if not {ADDED, WRITTEN} & uses[path]] == [], "in a table and never counted"


def test_no_field_is_counted_twice() -> None:
    elements: Multiset[tuple[Any, ...]] = Multiset()
    for table in MACHINE_TABLES:
        for counter in table.counters:
            again = table.section == "stalls_by_compute_unit"  # the stalls, compute unit by compute unit
            elements.update((*path_of(table, counter), element, again) for element in counter.elements or (None,))
    assert set(elements.values()) == {1}
    names = [(table.section, name) for table in TABLES for name in table.names]
    assert len(set(names)) == len(names)


def numbered(m: Any) -> dict[FieldPath, np.ndarray]:
    """Give every number in every counter of the machine a value of its own; the values of those in use, by field."""
    m.cu.cus = m.l2.channels = IN_USE
    m.run.engine_on = 1
    value, held = count(1), {}
    for path in sorted(COUNTED):
        part = m
        for name in path[:-1]:
            part = getattr(part, name)
        cells = np.zeros_like(np.asarray(part[path[-1]]))
        for index in np.ndindex(cells.shape):
            cells[index] = next(value)
        part[path[-1]] = cells
        in_use = (
            slice(IN_USE) if path in (("cu", "stalls"), ("l2", "stall_cycles"), ("l2", "engine_stall_cycles")) else ...
        )
        held[path] = cells[in_use]
    return held


def test_every_counter_reaches_the_facts() -> None:
    m = new_record(machine_dtype())
    held = numbered(m)
    facts = machine_facts(m)
    assert sum(map(len, facts.sections.values())) == sum(len(table.counters) for table in MACHINE_TABLES)
    # every number in every counter, once: the facts' sum is theirs
    found: Multiset[FieldPath] = Multiset()
    for table in MACHINE_TABLES:
        for counter in table.counters:
            fact = facts[table.section][counter.name]
            path = path_of(table, counter)
            if table.section == "stalls_by_compute_unit":
                reason = STALL_REASONS.index(counter.name)
                assert fact == held[path][:, reason].tolist()
            elif counter.aggregation is MAX:
                assert fact == held.pop(path).max()
            elif counter.aggregation is EACH:
                assert fact == held.pop(path).tolist()
            else:
                found[path] += fact
    assert found == {path: int(cells.sum()) for path, cells in held.items()}
    assert all(type(n) is int for counts in facts.sections.values() for n in counts.values() if type(n) is not list)


def test_elements_of_a_field_are_told_apart() -> None:
    m = new_record(machine_dtype())
    m.cu.cus = 2
    m.cu.stalls[1, state.SYNCHRONIZATION] = 7
    m.cu.issued[6], m.cu.issued[7] = 3, 5  # waits and the like, matrix products
    m.cu.issued[1] = 11
    facts = machine_facts(m)
    assert {reason: n for reason, n in facts.stalls.items() if n} == {"synchronization": 7}
    assert facts.stalls_by_compute_unit.synchronization == [0, 7]
    kinds = facts.kernel.other_instructions, facts.kernel.matrix_instructions, facts.kernel.salu_instructions
    assert kinds == (3, 5, 11)


def test_without_engine_there_is_no_engine_section() -> None:
    m = new_record(machine_dtype())
    m.engine.requests = 5
    assert machine_facts(m).engine is None


@pytest.mark.parametrize("number", range(len(STALL_REASONS)))
def test_reasons_are_named_as_the_core_numbers_them(number: int) -> None:
    waits = ("EXECUTION", "MATRIX_UNIT", "MEMORY", "THROTTLE", "SYNCHRONIZATION", "FETCH", "BRANCH_LATENCY")
    constants = ("ISSUED", "NOT_SELECTED", *waits, "IDLE")
    assert getattr(state, constants[number]) == number
    assert constants[number].lower() in STALL_REASONS[number]


def test_fields_have_the_shape_that_their_counters_ask_for() -> None:
    table = CounterTable(
        "x",
        (
            Counter("a", "lines", "plain"),
            Counter("b", "lines", "one for each", per="units"),
            Counter("c", "lines", "first and last", field="many", elements=(0, 4), per="units"),
            Counter("d", "lines", "second", field="many", elements=(1,), per="units"),
            Counter("e", "lines", "buckets", EACH, length=9),
        ),
    )
    fields = counter_fields(table, instances=6)
    assert {name: field.shape for name, field in fields.items()} == {"a": (), "b": (6,), "many": (6, 5), "e": (9,)}
    assert fields["many"].meaning == "first and last [lines]; second [lines]"


def test_launches_on_one_unit_and_on_all_add_up() -> None:
    table = CounterTable("x", (Counter("e", "cycles", "each", EACH),))
    assert table.combined([Counts(e=[1, 2, 3]), Counts(e=[10])]) == {"e": [11, 2, 3]}


def test_cus_that_hold_workgroups_at_the_end_are_active_until_then() -> None:
    m = new_record(machine_dtype())
    m.cu.cus = 3
    m.cu.active_since[:4] = 10, 20, 30, 40
    m.cu.wg_resident[:4] = 2, 0, 1, 1  # the last one is no CU of this machine
    assert active_now(m, 100) == 90 + 70

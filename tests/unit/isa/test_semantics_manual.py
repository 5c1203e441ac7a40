"""Does an operation compute what stands beside it as the manual's definition?"""

import pytest

from isa.lanes.lane_library import load_semantics
from isa.lanes.table import SCALAR, VECTOR, Operation, parse_signature, signed
from tests.unit.isa.lane_checks import check
from tests.unit.isa.test_semantics_scalar import check_scalar

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

load_semantics()
REFERENCES = {name: o for table in (VECTOR, SCALAR) for name, o in table.items() if o.manual is not None}


@pytest.mark.parametrize("name", REFERENCES)
def test_definition(name):
    operation = REFERENCES[name]
    (check_scalar if operation.scalar else check)(name, operation.by_the_manual())


def test_a_definition_knows_the_parameters_and_the_functions_of_its_file():
    def v_new(x, a, mask):
        raise AssertionError("the definition does not run the function")

    signature = parse_signature("u32 mask -> u32")
    operation = Operation("v_new", signature, v_new, False, "host", "signed(a, 8) & M32 if mask else check.__name__")
    assert operation.by_the_manual()(0x80, True) == 0xFFFFFF80
    assert operation.by_the_manual()(0x80, False) == "check"
    with pytest.raises(ValueError, match="v_none does not say"):
        Operation("v_none", signature, v_new, False, "host").by_the_manual()


def test_signed():
    assert [signed(v, 8) for v in (0, 127, 128, 255, 256)] == [0, 127, -128, -1, 0]

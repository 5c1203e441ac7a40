"""The type of the machine record, `m`, which compiled functions name: `m: Machine`.

Type checkers and editors read the stub beside this file, which lists each part and field; at run time the name stands
for nothing, and the compiler takes the record's type from the parts' states.

The stub is written from the states (`python -m tests.support.machine_stub`). It stands below the packages whose fields
it lists, since all of them need it, and imports none of them. A protocol in each package and a class of fields beside
each state were refused, since both repeat by hand what the states say.
"""

from typing import Any

Machine = Any

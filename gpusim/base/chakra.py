"""Execution traces of MLCommons Chakra, for simulators of clusters: a network's compute times, or what others add.

A file is a message `GlobalMetadata` and then a message `Node` for each step, each behind its length as a varint
(protobuf's delimited messages). Names and numbers of the fields, and the attributes that readers ask for (`is_cpu_op`,
`comm_type`, `comm_size`, `num_ops`, `tensor_size`), are facts of the format, as MLCommons' `et_def.proto` gives them
and ASTRA-sim reads them. Only the fields that are written are declared here, so that no other package is needed than
protobuf, which the timelines need too.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

VERSION = "1.0.0"  # of the schema
COMP_NODE, COMM_COLL_NODE = 4, 7  # of NodeType
ALL_REDUCE = 0  # of CollectiveCommType
_PACKAGE = "execution_trace"  # a name of our own: the wire format has none
# message → field → (number, type of protobuf's descriptors, repeated)
_FIELDS: dict[str, dict[str, tuple[int, str, bool]]] = {
    "AttributeProto": {
        "name": (1, "STRING", False),
        "int64_val": (9, "INT64", False),
        "uint64_val": (13, "UINT64", False),
        "bool_val": (27, "BOOL", False),
        "string_val": (29, "STRING", False),
    },
    "GlobalMetadata": {"version": (1, "STRING", False), "attr": (2, "AttributeProto", True)},
    "Node": {
        "id": (1, "UINT64", False),
        "name": (2, "STRING", False),
        "type": (3, "INT32", False),
        "ctrl_deps": (4, "UINT64", True),
        "data_deps": (5, "UINT64", True),
        "start_time_micros": (6, "UINT64", False),
        "duration_micros": (7, "UINT64", False),
        "attr": (10, "AttributeProto", True),
    },
}
_VALUES = ("int64_val", "uint64_val", "bool_val", "string_val")  # of the oneof `value`


def chakra_file(nodes: Iterable[Any]) -> bytes:
    """Return the file of some nodes, of the class `message_classes()["Node"]`."""
    metadata = message_classes()["GlobalMetadata"](version=VERSION)
    return b"".join(_delimited(one) for one in (metadata, *nodes))


def compute_trace(steps: Iterable[tuple[str, float]]) -> bytes:
    """Return the trace of steps that a GPU computes one after another.

    Durations are whole microseconds, and each step ends at the rounded end of the sum so far: the error of the whole
    is below a microsecond, as long as each step takes one.

    Args:
        steps: Name and time in microseconds of each step.

    Returns:
        The file.
    """
    node = message_classes()["Node"]
    nodes, exact_us, end_us = [], 0.0, 0
    for number, (name, time_us) in enumerate(steps):
        exact_us += time_us
        duration_us = max(1, round(exact_us) - end_us)
        made = computed(node(id=number, data_deps=[number - 1] * (number > 0)), name, duration_us)
        made.start_time_micros, end_us = end_us, end_us + duration_us
        nodes.append(made)
    return chakra_file(nodes)


def computed(node: Any, name: str, duration_us: int) -> Any:
    """Fill in a node of a step that a GPU computes, and return it.

    Args:
        node: The node.
        name: Name of the step.
        duration_us: Its time in microseconds, which counts, not a roofline of the reader's.

    Returns:
        The node.
    """
    node.name, node.type, node.duration_micros = name, COMP_NODE, duration_us
    node.attr.add(name="is_cpu_op", bool_val=False)
    node.attr.add(name="num_ops", int64_val=0)
    node.attr.add(name="tensor_size", uint64_val=0)
    return node


@cache
def message_classes() -> dict[str, Any]:
    """Return protobuf's classes of the messages by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="gpusim_chakra.proto", package=_PACKAGE, syntax="proto3")
    of = descriptor_pb2.FieldDescriptorProto
    for message, declared in _FIELDS.items():
        made = file.message_type.add(name=message)
        if message == "AttributeProto":
            made.oneof_decl.add(name="value")
        for name, (number, kind, repeated) in declared.items():
            field = made.field.add(name=name, number=number, label=of.LABEL_REPEATED if repeated else of.LABEL_OPTIONAL)
            if kind in _FIELDS:
                field.type, field.type_name = of.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                field.type = getattr(of, f"TYPE_{kind}")
            if message == "AttributeProto" and name in _VALUES:
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindFileByName(file.name).message_types_by_name
    return {name: message_factory.GetMessageClass(found[name]) for name in _FIELDS}


def _delimited(message: Any) -> bytes:
    """Return a message behind its length as a varint."""
    content: bytes = message.SerializeToString(deterministic=True)
    length, head = len(content), bytearray()
    while length > 127:
        head.append(length & 127 | 128)
        length >>= 7
    head.append(length)
    return bytes(head) + content

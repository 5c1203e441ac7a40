"""Execution traces of MLCommons Chakra: what each GPU computes and sums in an iteration, for other simulators to take.

A file is a message `GlobalMetadata` and then a message `Node` for each step and each sum of a bucket, each behind its
length as a varint (protobuf's delimited messages). Names and numbers of the fields, and the attributes that readers
ask for (`is_cpu_op`, `comm_type`, `comm_size`, `num_ops`, `tensor_size`), are facts of the format, as MLCommons'
`et_def.proto` gives them and ASTRA-sim reads them. Only the fields that are written are declared here, so that no other
package is needed than protobuf, which the timelines need too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.formats import COUNT
from gpusim.lab.training.stages import Bucket, LayerStep, TrainingPipeline, buckets

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


def check_folder(folder: Path) -> None:
    """Raise UserError for a folder that cannot be made."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--chakra {folder}: is a file; a folder is needed")
    if not folder.absolute().parent.is_dir():
        raise UserError(f"--chakra {folder}: folder {folder.absolute().parent} does not exist")


def write_traces(folder: Path, training: TrainingPipeline) -> str:
    """Write a trace for each GPU, `training.N.et`; returns a line that says so. Raises UserError."""
    content = trace(training)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"--chakra {folder}: cannot be made: {error.strerror or error}") from None
    for gpu in range(training.gpus):
        write_whole(folder / f"training.{gpu}.et", content)
    files = f"training.{{0..{training.gpus - 1}}}.et" if training.gpus > 1 else "training.0.et"
    return f"{folder / files}: Chakra execution traces of an iteration, {COUNT(len(content))} bytes each"


def trace(training: TrainingPipeline) -> bytes:
    """Return the trace of an iteration, the same for every GPU."""
    kinds = message_classes()
    metadata = kinds["GlobalMetadata"](version=VERSION)
    return b"".join(_delimited(one) for one in (metadata, *_nodes(training, kinds["Node"])))


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


def _nodes(training: TrainingPipeline, node: Any) -> Iterator[Any]:
    """Yield a node for each step, which needs the one before, and for each bucket, which its last gradient makes.

    The first update needs all sums.
    """
    before: list[int] = []
    number = 0
    for step in training.forward:
        yield _step(node(id=number, data_deps=before), step)
        before, number = [number], number + 1
    sums: list[int] = []
    for step, bucket in buckets(training):
        yield _step(node(id=number, data_deps=before), step)
        before, number = [number], number + 1
        if bucket is not None:
            yield _sum(node(id=number, data_deps=before), bucket)
            sums, number = [*sums, number], number + 1
    for step in training.update:
        yield _step(node(id=number, data_deps=[*before, *sums]), step)
        before, sums, number = [number], [], number + 1


def _step(node: Any, step: LayerStep) -> Any:
    node.name, node.type = step.name, COMP_NODE
    node.duration_micros = max(1, round(step.time_us))
    node.attr.add(name="is_cpu_op", bool_val=False)
    node.attr.add(name="num_ops", int64_val=0)  # the duration counts, not a roofline of the reader's
    node.attr.add(name="tensor_size", uint64_val=0)
    return node


def _sum(node: Any, bucket: Bucket) -> Any:
    node.name, node.type = f"all-reduce {bucket.name}", COMM_COLL_NODE
    node.attr.add(name="is_cpu_op", bool_val=False)
    node.attr.add(name="comm_type", int64_val=ALL_REDUCE)
    node.attr.add(name="comm_size", int64_val=round(bucket.size_bytes))
    return node


def _delimited(message: Any) -> bytes:
    """Return a message behind its length as a varint."""
    content: bytes = message.SerializeToString(deterministic=True)
    length, head = len(content), bytearray()
    while length > 127:
        head.append(length & 127 | 128)
        length >>= 7
    head.append(length)
    return bytes(head) + content

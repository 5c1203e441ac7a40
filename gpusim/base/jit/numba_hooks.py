"""All that the compiled core takes from inside Numba and llvmlite, past their public interface: in this file only.

Each hook replaces one function of Numba's while the core is compiled, and none is needed for right results: with
`GPUSIM_PLAIN_NUMBA=1` the core is compiled without any of them, slower to compile and to run. A test lists them all and
names those whose place in Numba has changed, so that a new version of Numba is looked at before it is allowed.
"""

import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from llvmlite import ir
from llvmlite.binding import Linkage, parse_bitcode
from numba import _dynfunc, types
from numba.core import serialize, typed_passes, untyped_passes
from numba.core.base import BaseContext
from numba.core.caching import Cache
from numba.core.callconv import CPUCallConv, excinfo_t
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, compile_result
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target
from numba.core.types.functions import BaseFunction
from numba.np import arrayobj

PLAIN = bool(os.environ.get("GPUSIM_PLAIN_NUMBA"))


@contextmanager
def _replaced(*steps: tuple[Any, str, Any]) -> Iterator[None]:
    """Replace, while the block runs, the attribute `name` of each (holder, name, replacement)."""
    before = [getattr(holder, name) for holder, name, _ in steps]
    for holder, name, replacement in steps:
        setattr(holder, name, replacement)
    try:
        yield
    finally:
        for (holder, name, _), original in zip(steps, before, strict=True):
            setattr(holder, name, original)


_attributes: dict[tuple[str, str], tuple[str, ...]] = {}  # (module, qualified name) → LLVM attributes


def set_attributes(function: Callable[..., Any], *attributes: str) -> None:
    """Have the compiled function carry these LLVM attributes."""
    _attributes[function.__module__, function.__qualname__] = attributes


# signatures that functions of Numba's, such as an addition, have for types of arguments; each with its function, so
# that no other one gets its identity
_call_types: dict[tuple[int, Any], tuple[Any, Any]] = {}


@contextmanager
def core_code() -> Iterator[None]:
    """Compile with the core's options while the block runs.

    Functions carry their LLVM attributes, indices are taken as they are, results of calls are not set to zero before,
    and each operation's types are looked up once instead of at every place where it is used.
    """
    if PLAIN:
        yield
        return
    declare = BaseContext.declare_function

    def declare_with_attributes(context: Any, module: Any, description: Any) -> Any:
        function = declare(context, module, description)
        for attribute in _attributes.get((description.modname, description.qualname), ()):
            function.attributes.add(attribute)
        return function

    def index_as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        # Python's negative indices cost a comparison and a select in every access
        return context.cast(builder, index, kind, types.intp)

    def call_without_zeros(
        convention: Any, builder: Any, callee: Any, result: Any, kinds: Any, arguments: Any, attrs: Any = ()
    ) -> Any:
        # a callee that does not fail writes its result; Numba writes zeros there before, twice for each call
        with builder.goto_entry_block():
            place = builder.alloca(convention.get_return_type(result).pointee)
            error = builder.alloca(ir.PointerType(excinfo_t))
        values = convention._get_arg_packer(kinds).as_arguments(builder, arguments)
        code = builder.call(callee, [place, error, *values], attrs=attrs or ())
        status = convention._get_return_status(builder, code, builder.load(error))
        return status, convention.context.get_returned_value(builder, result, builder.load(place))

    find_call_type = BaseFunction.get_call_type

    def call_type_found_once(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        if named:
            return find_call_type(function, context, arguments, named)
        key = id(function), arguments
        if key not in _call_types:
            _call_types[key] = find_call_type(function, context, arguments, named), function
        return _call_types[key][0]

    with _replaced(
        (BaseContext, "declare_function", declare_with_attributes),
        (BaseFunction, "get_call_type", call_type_found_once),
        (arrayobj, "fix_integer_index", index_as_it_is),
        (CPUCallConv, "call_function", call_without_zeros),
        (types.Record, "__repr__", lambda record: f"record of {record.size} bytes"),
    ):
        yield


_part_libraries: "WeakSet[Any]" = WeakSet()  # code of parts: not yet linked to what they call


def _with_parts(libraries: list[Any]) -> list[Any]:
    """Return the libraries that are to be linked, together with the parts that they need directly or indirectly.

    Each comes once and after all that call it: the linker leaves out what nothing linked before calls.
    """
    callees_first: list[Any] = []
    seen = set()

    def visit(library: Any) -> None:
        if library not in seen:
            seen.add(library)
            for callee in library._linking_libraries if library in _part_libraries else ():
                visit(callee)
            callees_first.append(library)

    for library in libraries[::-1]:
        visit(library)
    return callees_first[::-1]


@contextmanager
def _parts_linked_once() -> Iterator[None]:
    """Link parts only to the whole function that needs them, while the block runs.

    Parts are not linked to one another: a leaf would be linked to each of its callers and again to each of theirs.
    """
    finalize = CPUCodeLibrary.finalize

    def finalize_with_parts(library: Any) -> None:
        if library in _part_libraries:
            library._finalized = True
        else:
            library._linking_libraries = _with_parts(library._linking_libraries)
            finalize(library)

    with _replaced((CPUCodeLibrary, "finalize", finalize_with_parts)):
        yield


def _part_function(context: Any, library: Any, description: Any, environment: Any) -> Any:
    """Return a stand-in that is not callable, where Numba wants a function for a part that Python can call."""
    _part_libraries.add(library)  # it is finalized when its first caller is compiled, which may be whole
    name = description.qualname.split(".")[-1]
    return _dynfunc.make_function(description.lookup_module(), name, "not callable", 0, environment, (library,))


@contextmanager
def parts_unfinished() -> Iterator[None]:
    """Compile dispatchers only as far as their callers take them in: not optimized, no machine code, not cached."""
    if PLAIN:
        yield
        return

    def nothing(*arguments: Any, **options: Any) -> None:
        """Stand in for a function whose result a part does without."""

    with (
        _parts_linked_once(),
        _replaced(
            (CPUContext, "get_executable", _part_function),
            (CPUContext, "create_cpython_wrapper", nothing),
            (Cache, "load_overload", nothing),
            (Cache, "save_overload", nothing),
        ),
    ):
        yield


@contextmanager
def calls_only_within() -> Iterator[None]:
    """Compile functions, while the block runs, to which nothing else will be linked, so that their callees are private.

    The optimizer then sees that no callee fails, which saves passing and testing a status, and which arguments are not
    used; calls become short. Private callees get names of their own, since the linker takes any function of a name for
    the one that is called.
    """
    if PLAIN:
        yield
        return
    optimize = CPUCodeLibrary._optimize_final_module

    def optimize_as_a_whole(library: Any) -> None:
        for function in library._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
                function.name += f".{library.name}"
        optimize(library)

    with _parts_linked_once(), _replaced((CPUCodeLibrary, "_optimize_final_module", optimize_as_a_whole)):
        yield


def forget_parts(dispatchers: Iterable[Any]) -> None:
    """Drop what was compiled as a part, so that a call from Python compiles it anew."""
    for dispatcher in () if PLAIN else dispatchers:
        dispatcher.disable_compile(False)
        dispatcher._reset_overloads()
        dispatcher.overloads.clear()


_C_LIBRARY = {"memcpy", "memmove", "memset", "fma", "fmaf"}
_DECLARED = re.compile(r'^declare [^@]*@"?([^("]+)"?\(', re.MULTILINE)


def object_code(compiled: Any) -> bytes | None:
    """Return the object file of a compiled C function; None if it cannot run without Numba.

    It can if nothing in it fails, which the optimizer sees of code that `calls_only_within`: an error would be raised
    through functions of Numba's.
    """
    library = compiled._library
    called = {name for name in _DECLARED.findall(str(library._final_module)) if not name.startswith("llvm.")}
    return None if PLAIN or called - _C_LIBRARY else bytes(library._get_compiled_object())


def packed_parts(dispatchers: Iterable[Any]) -> bytes:
    """Serialize functions that were compiled as parts, with types and code of all below them, for another process."""
    results = [(dispatcher, result) for dispatcher in dispatchers for result in dispatcher.overloads.values()]
    libraries = _with_parts([result.library for _, result in results])
    number = {library: k for k, library in enumerate(libraries)}
    code = [
        (library.name, library._final_module.as_bitcode(), [number[callee] for callee in library._linking_libraries])
        for library in libraries
    ]
    functions = []
    for dispatcher, result in results:
        result.fndesc.typemap = result.fndesc.calltypes = None  # as Numba's cache has it: not needed, and large
        facts = (result.fndesc, result.environment, result.signature, number[result.library])
        functions.append((_name_of(dispatcher), facts))
    return bytes(serialize.dumps((code, functions)))


def load_parts(content: bytes, dispatchers: Iterable[Any]) -> None:
    """Give dispatchers the functions of `packed_parts`, as if they had been compiled in this process as parts."""
    code, functions = pickle.loads(content)
    named = {_name_of(dispatcher): dispatcher for dispatcher in dispatchers}
    context = cpu_target.target_context
    libraries = [context.codegen().create_library(name) for name, _, _ in code]
    for library, (_, bitcode, callees) in zip(libraries, code, strict=True):
        library._final_module = parse_bitcode(bitcode)
        library._linking_libraries = [libraries[k] for k in callees]
        _part_libraries.add(library)
    for name, (description, environment, signature, k) in functions:
        result = compile_result(
            typing_context=cpu_target.typing_context,
            target_context=context,
            entry_point=_part_function(context, libraries[k], description, environment),
            library=libraries[k],
            fndesc=description,
            environment=environment,
            signature=signature,
            objectmode=False,
        )
        context.insert_user_function(result.entry_point, description, [result.library])
        named[name].add_overload(result)
        named[name].disable_compile()


def _name_of(dispatcher: Any) -> tuple[str, str]:
    return dispatcher.py_func.__module__, dispatcher.py_func.__qualname__


def type_of_intrinsic(intrinsic: Any) -> Any:
    """Return Numba's type of an intrinsic, for its stand-in in the functions that use it."""
    return cpu_target.typing_context.resolve_value_type(intrinsic)


_LEFT_OUT = (
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.AnnotateTypes,
)


class CorePipeline(CompilerBase):
    """Numba's pipeline without the passes that find nothing in the core, a fifth of a compilation's front end.

    The core has no closures, comprehensions, `with`, `raise`, `literal_unroll`, overloads to inline or arrays to fuse,
    and the optimizer finds its dead branches. The passes left out look for these in every function, and each analyses
    the function anew. What needs one of them fails to compile, but with `GPUSIM_PLAIN_NUMBA=1`.
    """

    def define_pipelines(self) -> list[PassManager]:
        """Return the only pipeline: Numba's nopython passes without those in `_LEFT_OUT`."""
        whole = DefaultPassBuilder.define_nopython_pipeline(self.state)
        core = PassManager("core")
        core.passes.extend(step for step in whole.passes if step[0] not in _LEFT_OUT)
        core.finalize()
        return [core]

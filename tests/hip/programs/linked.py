"""An OpenCL program whose sources are compiled apart and linked: with headers, a library, a stored object."""

import ctypes

cl = ctypes.CDLL("libOpenCL.so.1")
OBJECTS = "ContextFromType CommandQueue Buffer ProgramWithSource ProgramWithBinary Kernel"
for name in (*(f"clCreate{kind}" for kind in OBJECTS.split()), "clLinkProgram"):
    getattr(cl, name).restype = ctypes.c_void_p
device, error, pointer, size = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_void_p, ctypes.c_size_t
assert cl.clGetDeviceIDs(None, ctypes.c_uint64(4), 1, ctypes.byref(device), None) == 0
context = pointer(cl.clCreateContextFromType(None, ctypes.c_uint64(4), None, None, ctypes.byref(error)))
queue = pointer(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(error)))


def source(text):
    program = pointer(cl.clCreateProgramWithSource(context, 1, (ctypes.c_char_p * 1)(text), None, ctypes.byref(error)))
    assert error.value == 0
    return program


def compiled(program, options=b"", **headers):
    names = (ctypes.c_char_p * len(headers))(*(name.encode() + b".h" for name in headers)) if headers else None
    sources = (pointer * len(headers))(*(one.value for one in headers.values())) if headers else None
    return cl.clCompileProgram(program, 0, None, options, len(headers), sources, names, None, None)


def linked(options, *programs):
    inputs = (pointer * len(programs))(*(one.value for one in programs))
    return pointer(cl.clLinkProgram(context, 0, None, options, len(programs), inputs, None, None, ctypes.byref(error)))


def info(call, program, *name, kind=ctypes.c_uint):
    found = kind()
    assert getattr(cl, call)(program, *name, size(ctypes.sizeof(found)), ctypes.byref(found), None) == 0
    return found.value


def binary_of(program):
    text = ctypes.create_string_buffer(info("clGetProgramInfo", program, 0x1165, kind=size))
    places = (pointer * 1)(ctypes.addressof(text))
    assert cl.clGetProgramInfo(program, 0x1166, size(8), places, None) == 0
    return text.raw


def run(program, name):
    kernel = pointer(cl.clCreateKernel(program, name, ctypes.byref(error)))
    assert error.value == 0, error.value
    values = (ctypes.c_int * 64)(*range(64))
    buffer = pointer(cl.clCreateBuffer(context, ctypes.c_uint64(0x21), size(256), values, ctypes.byref(error)))
    assert cl.clSetKernelArg(kernel, 0, size(8), ctypes.byref(buffer)) == 0
    assert cl.clEnqueueNDRangeKernel(queue, kernel, 1, None, (size * 1)(64), (size * 1)(64), 0, None, None) == 0
    assert cl.clEnqueueReadBuffer(queue, buffer, 1, size(0), size(256), values, 0, None, None) == 0
    return list(values)


def type_of(program):
    return info("clGetProgramBuildInfo", program, device, 0x1184)


header = source(b"int twice(int x); enum { MORE = 7 };")
helper = source(b"int twice(int x) { return SCALE * x; }")
KERNEL = b"kernel void f(global int *a) { size_t i = get_global_id(0); a[i] = twice(a[i]) + MORE; }"
main = source(b'#include "twice.h"\n' + KERNEL)
assert compiled(main) == -15, "the header is not there"
assert compiled(main, twice=header) == 0 and compiled(helper, b"-DSCALE=2") == 0
assert (type_of(main), type_of(helper)) == (1, 1)
linked(b"", main)
assert error.value == -17, "a function is missing"
program = linked(b"", main, helper)
assert error.value == 0 and type_of(program) == 4
expected = [2 * x + 7 for x in range(64)]
assert run(program, b"f") == expected
library = linked(b"-create-library", helper)
assert error.value == 0 and type_of(library) == 2
assert run(linked(b"", main, library), b"f") == expected
text = binary_of(main)
sizes, texts = (size * 1)(len(text)), (ctypes.c_char_p * 1)(text)
stored = cl.clCreateProgramWithBinary(context, 1, ctypes.byref(device), sizes, texts, None, ctypes.byref(error))
again = pointer(stored)
assert error.value == 0 and type_of(again) == 1
assert run(linked(b"", again, helper), b"f") == expected
linked(b"", source(b"kernel void g(void) {}"))
assert error.value == -59, "it was not compiled"
assert cl.clCompileProgram(main, 0, None, b"", 1, None, None, None, None) == -30
print("linked")

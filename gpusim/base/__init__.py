"""What everything may use: errors, specification values, files, progress, interrupts.

Knows no other package. `errors` has the error that costs a user one line and no traceback; `spec` the base class by
which every value of a configuration is typed, limited and sourced.

Why so: what is here has no knowledge of GPUs, so that every package may import it. Classes are the standard library's
dataclasses: a decorator of gpusim's own saved 1 to 5 % of a start and was removed, since readers and type checkers know
the former (docs/decisions/0009).
"""

"""What everything may use: errors, specification values, files, progress, interrupts.

Knows no other room. `errors` has the error that costs a user one line and no traceback; `spec` the base class by which
every value of a configuration is typed, limited and sourced.
"""

"""The command line: `main` has the table of commands, and a file for each has its options and what it does.

Read `main`, then `run`. `lazy` makes commands of the table's rows, `options` has the options of several commands, and
`outcome` is what `run` and `exec` share. A command's file imports at its top `gpusim.base`, Typer and options alone, so
that a start imports nothing that its command does not need. Importing this package sets what holds for the process.

Why so: a command is a row and a file, whose imports are paid by its own start alone.
"""

import gc
import os

gc.set_threshold(300_000, 50, 50)  # nearly all that a start makes stays: to look for garbage in it takes a tenth
# NumPy's threads, made when it is imported, take longer than all that is multiplied here: a reference to compare with
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # or it reads what each installed package offers

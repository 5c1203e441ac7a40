"""The command line: `main` reads the arguments that `options` and the files "declared" list; a module does a command.

Importing it sets what holds for the whole process, before anything large is imported.
"""

import gc
import os

gc.set_threshold(300_000, 50, 50)  # nearly all that a start makes stays: to look for garbage in it takes a tenth
# NumPy's threads, made when it is imported, take longer than all that is multiplied here: a reference to compare with
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # or it reads what each installed package offers

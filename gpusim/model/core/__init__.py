"""The cycle-level core: the machine record, its run loop, and what is asserted of every run.

`machine` puts the units' states together, `loop` runs them cycle by cycle over the wake-up wheel, `simulator` times one
launch; `laws` and `roofline` say what no run may break. The compute units are in `gpusim.model.core.cu`.

Why so: one record and free functions over it compile to one piece of machine code, and cycles that hold no event are
skipped (decisions 2 and 3). A second language was refused: it needs a compiler where gpusim is installed.
"""

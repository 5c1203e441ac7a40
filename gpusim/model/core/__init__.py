"""The cycle-level core: the machine record, its run loop, and what is asserted of every run.

`machine` puts the units' states together, `loop` runs them cycle by cycle over the wake-up wheel, `simulator` times one
launch; `laws` and `roofline` say what no run may break. The compute units are in `gpusim.model.core.cu`.
"""

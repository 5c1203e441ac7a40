"""Energy of a run's memory system and area of the compaction engine, from counts and cited figures.

Nothing of it takes part in a simulation: it is computed from what was counted when a run has ended. `spec` is what a
configuration may say, `dram` the currents of DRAM standards and what a command takes by them, `model` the energy of
each event of a machine and of counts, `area` the engine's storage and logic by Dong 2020's list.

Why so: energies are factors of counts, so that one run can be priced anew with other figures, and each figure states
its source. The simulation does without it, as no unit's timing depends on it.
"""

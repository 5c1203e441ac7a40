"""A training as a whole: its six stages, what bounds them, and how it scales over GPUs, from stored times of layers.

Read `times.py` (what a network's layers take, from a store or the file), `topologies.py`, `line.py` (from the file to
stages), `measure.py` (what is simulated and what follows), `views.py` (screen, tables, JSON); beside them
`model_parallel.py` (a circulant layer in stages) and `chakra.py` (execution traces for other simulators).

Why so: stages are simulated by batches, from stored times of layers, so that another storage or topology needs no
simulation of kernels.
"""

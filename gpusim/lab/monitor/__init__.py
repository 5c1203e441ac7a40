"""The sparsity monitor (Dong 2020, section 6.2): which activation maps are measured when, and what is believed between.

It runs on the host beside a training, so nothing of it is part of the machine. Read it in this order:

- `settings`: what can be set, with table 6.2's values;
- `algorithms`: Algorithms 1 (DPAA) and 2 (SSDA) and fast termination, as pure functions, with the slips of their
  printed form settled;
- `scheduler`: the scheduler and its sparsity list: which maps are due, what a measurement changes;
- `curves`: recorded sparsity of maps over iterations, and made-up ones; `replay`: the scheduler driven by them;
  `picture`: as figures 6.14 and 6.15; `views`: tables and JSON;
- `closed_loop`: a training under what the monitor believes, layer by layer, from simulated times of passes;
- `overhead`: table 6.6, and what it implies; `training_speedup`: equation 6.1 and table 6.7;
- `attach`: the sparsity calculator, and the monitor on a PyTorch module in training, where it decides between dense and
  sparse for each layer and iteration; `training_overhead`: what that costs, exhaustive beside monitored.

Why so: the monitor is software of the host in the source, so it stays outside the timed machine; where the printed
algorithms contradict their text, the code says what is done instead.
"""

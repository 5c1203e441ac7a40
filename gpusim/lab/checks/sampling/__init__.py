"""Whether sampling keeps what it promises: a suite of launches, each simulated in whole and sampled, and compared.

In reading order: `cases` (the suite), `measure` (one case, and all of them side by side in processes), `views` (the
figures, a table, JSON, the picture). `gpusim check-sampling` is its command.
"""

"""Whether sampling keeps what it promises: a suite of launches, each simulated in whole and sampled, and compared.

In reading order: `cases` (the suite), `measure` (one case, and all of them side by side in processes), `views` (the
figures, a table, JSON, the picture). `gpusim check-sampling` is its command.

Why so: an error bar is only true of launches that the method was not developed with, so launches are also drawn by a
seed. Known kernels alone were refused: bars that are true of them were false of others.
"""

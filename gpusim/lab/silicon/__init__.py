"""The model beside real cards: measured points are run on it, compared, and what no source tells is fitted to them.

Why so: measured rows are simulated as the library launched them, by its own kernels. Fitting what has a source was
refused: only clocks and launch times that no source gives are fitted, and pages name them.
"""

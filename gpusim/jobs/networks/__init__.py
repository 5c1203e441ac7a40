"""Networks on the simulated GPU: from a schedule and its memory plan to operators, their results, times and report.

Why so: equal launches are simulated once and each in a memory of its own, so that a result does not depend on what ran
before (decisions 7 and 14). One memory for a whole iteration was refused: the same layer then took other times at other
places.
"""

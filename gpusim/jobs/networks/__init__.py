"""Networks on the simulated GPU: from a schedule and its memory plan to operators, their results, times and report."""

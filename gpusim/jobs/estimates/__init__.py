"""Times of launches and networks without simulating them: bounds, and a correction fitted to simulated launches.

Why so: a cost has to be known before a run, so it follows from the launches' work by bounds; what bounds leave out is
fitted to simulated launches, and the errors of earlier estimates are shown. Estimating a launch from another one of its
kernel was refused: it was further off than its error said.
"""

"""What is recorded in `results`, how old each figure is, and what makes it new (`gpusim reproduce --stale`).

Why so: whatever command made a figure, it is a recording with figures, versions and values, so age, renewal and the
long table are written once.
"""

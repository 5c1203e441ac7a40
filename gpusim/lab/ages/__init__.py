"""What is recorded in `results`, how old each figure is, and what makes it new (`gpusim reproduce --stale`)."""

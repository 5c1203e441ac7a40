"""Times of launches and networks without simulating them: bounds, and a correction fitted to simulated launches."""

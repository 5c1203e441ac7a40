"""Checks of the simulator itself: its speed, its sampling, its estimates."""

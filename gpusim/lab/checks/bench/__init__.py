"""The speed benchmark of the simulator itself: cases that load one part of the machine each, and their history."""

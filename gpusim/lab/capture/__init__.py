"""Activation maps captured from trainings in PyTorch."""

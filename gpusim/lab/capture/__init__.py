"""Activation maps captured from trainings in PyTorch.

Why so: maps of real trainings decide what sparsity is worth, and no published table has them; PyTorch is imported by
these modules alone.
"""

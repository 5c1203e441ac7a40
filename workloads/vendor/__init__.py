"""Kernels that vendors ship: how they are named and launched. The kernels themselves come from the user's packages.

Why so: a vendor's kernels are the user's own files: they are found in installed packages and never copied here, for
their licences and their size.
"""

"""Kernels that vendors ship: how they are named and launched. The kernels themselves come from the user's packages."""

"""Gaussian process regression: many small exact processes, fitted and evaluated together.

Begin with the README of this folder, and the same in plain NumPy (`tests/gp_reference.py`); others use
`processes.GPs`.
May be imported by `surrogate` and whatever is above it; imports nothing above `problem`, and never a solver.
"""

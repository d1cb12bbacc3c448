"""Gaussian process regression: many small exact processes, fitted and evaluated together.

Begin with `reference` (plain NumPy) and the README of this folder; `processes.GPs` is what others use.
May be imported by `surrogate` and whatever is above it; imports nothing above `problem`, and never a solver.
"""

"""Surrogates of the regret: y_hat -> (mean, std) for each training example, learned from what was paid for.

Begin with `regret.RegretSurrogate`: samples in, smoothed targets to one Gaussian process per example, regret out.
May be imported by the GP surrogate and whatever is above `methods`; imports `gp`, and never `oracle`: nothing here
calls a solver.
"""

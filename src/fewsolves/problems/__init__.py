"""Ready-made problems with exact solvers of microseconds: the benchmarks of the literature, by name in `benchmark`."""

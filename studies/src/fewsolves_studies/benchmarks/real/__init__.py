"""Real data: decisions that people have to make, with the data and the figures that others have published.

Begin with `market_clearing.py`. A dataset is a file that reads `data/`, where licence and source stand beside it,
cuts the rows by time and builds the problem. By name they are in `benchmarks/catalogue.py`; `fewsolves real NAME`
(fewsolves/real/) runs the study of one.
"""

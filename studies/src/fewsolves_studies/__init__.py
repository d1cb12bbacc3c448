"""Studies with fewsolves: benchmarks, the paper's experiments again, real data, and what measures the library.

    benchmarks    problems with known data to compare methods on
    paper         `fewsolves paper`: the experiments of the paper
    real          `fewsolves real`: studies of real data
    measure       scripts behind the figures of docs and results: python -m fewsolves_studies.measure.NAME
    commands      what the command line gains by this package

Not part of the wheel of fewsolves, which imports nothing of it.
"""

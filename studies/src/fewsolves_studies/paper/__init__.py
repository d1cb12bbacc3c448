"""The experiments of the paper, run again and laid beside its printed figures.

Begin with `experiment.py` and one of `experiments/`, one file per table or figure. An experiment lists trials;
`run_trials.py` runs those that the study (`benchmarks/study.py`) lacks, `shared_start.py` each of them, and `output.py`
writes tables, figures and the page. May be imported by commands and by the scripts in benchmarks/ at the root.
"""

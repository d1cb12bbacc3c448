"""Measurements behind docs and results, run by hand: python -m fewsolves_studies.measure.NAME, one file each."""

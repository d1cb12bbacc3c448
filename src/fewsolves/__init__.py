"""Train a predictor for the decisions it drives, with few calls of the solver."""

from fewsolves.problem import Problem

__all__ = ["Problem"]

"""HiGHS with models that stay in memory: built once, changed in place, one thread, silent."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fewsolves.errors import InputError
from fewsolves.problem import Array


def linear_program(rows: Array, costs: Array, upper: Array, **options: Any) -> Any:
    """min costs.x, 0 <= x <= upper; the bounds of rows @ x are set later. `options` are those of HiGHS."""
    try:
        import highspy
    except ImportError:
        raise InputError("this benchmark solves with HiGHS: pip install highspy") from None
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = rows.shape
    program.col_cost_, program.col_lower_, program.col_upper_ = costs, np.zeros_like(costs), upper
    program.row_lower_ = program.row_upper_ = np.zeros(rows.shape[0])
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    sparse: Any = sp.csr_array(rows)
    matrix = program.a_matrix_
    matrix.start_, matrix.index_, matrix.value_ = sparse.indptr, sparse.indices, sparse.data
    model: Any = highspy.Highs()
    for name, value in ({"output_flag": False, "threads": 1, "presolve": "off"} | options).items():
        model.setOptionValue(name, value)
    model.passModel(program)
    return model


def solved(model: Any) -> Array:
    """The solution of the model as it stands."""
    model.run()
    if not model.getInfo().primal_solution_status == 2:  # feasible
        raise RuntimeError(f"HiGHS found no solution: {model.modelStatusToString(model.getModelStatus())}")
    return np.asarray(model.getSolution().col_value)

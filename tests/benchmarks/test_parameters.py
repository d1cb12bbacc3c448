"""What is refused before any solver sees it."""

import numpy as np
import pytest

from fewsolves.benchmarks.sources import parameter_rows


def test_one_vector_is_one_row_of_floats():
    rows = parameter_rows(np.arange(3), 3)
    assert rows.shape == (1, 3) and rows.dtype == np.float64
    assert parameter_rows(np.ones((0, 3), np.float32), 3).shape == (0, 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_place_of_a_bad_number_is_named(bad):
    Y = np.ones((3, 2))
    Y[2, 1] = bad
    with pytest.raises(ValueError, match=r"finite.*row 2, column 1"):
        parameter_rows(Y, 2)


@pytest.mark.parametrize("shape", [(4,), (2, 4), (1, 2, 3), ()])
def test_wrong_shapes(shape):
    with pytest.raises(ValueError, match="expected 3 parameters"):
        parameter_rows(np.ones(shape), 3)

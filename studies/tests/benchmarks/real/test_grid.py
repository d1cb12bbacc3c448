import numpy as np

from fewsolves_studies.benchmarks.real.grid import ieee24


def test_grid_is_whole():
    grid = ieee24()
    assert grid.unit_flows.shape == (34, 12) and grid.load_flows.shape == (34, 17)
    assert np.isclose(grid.share.sum(), 1.0) and grid.capacity.sum() == 3375.0
    assert sorted(grid.line_capacity[[21, 22, 24]]) == [250.0, 250.0, 400.0]


def test_grid_units_and_loads_of_one_bus_have_the_same_flows():
    grid = ieee24()
    assert np.array_equal(grid.unit_flows[:, 4], grid.unit_flows[:, 5])  # both at bus 15
    assert np.array_equal(grid.unit_flows[:, 4], grid.load_flows[:, 12])
    assert not grid.unit_flows[:, 0].any(), "bus 1 is where everything is taken out"

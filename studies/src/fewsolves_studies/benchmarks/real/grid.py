"""The IEEE 24-bus grid with 12 units, 34 lines and 17 loads, as it was published with the loads (see data/).

G units, L lines, J loads; flows are linear in what is fed in at each bus (direct current):

    ptdf  (L, N)   flow on each line per MW fed in at a bus and taken out at the first one
    unit_flows (L, G), load_flows (L, J)     the same by unit and by load
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from fewsolves.problem import Array
from fewsolves_studies.benchmarks.real.tables import read_numbers

FOLDER = "market_clearing"


@dataclass(frozen=True, eq=False)
class Grid:
    """Limits in MW, costs per MWh."""

    capacity: Array  # (G,)
    up_limit: Array  # (G,) how far a unit can be moved up in real time
    down_limit: Array  # (G,)
    ramp: Array  # (G,) most change from hour to hour
    cost: Array  # (G,)
    up_cost: Array  # (G,) of a MWh more in real time
    down_cost: Array  # (G,) what a MWh less in real time saves
    share: Array  # (J,) of the system's load
    line_capacity: Array  # (L,)
    unit_flows: Array  # (L, G)
    load_flows: Array  # (L, J)


@cache
def ieee24() -> Grid:
    units, lines, loads = (read_numbers(FOLDER, f"{name}.csv") for name in ("units", "lines", "loads"))
    ends = np.stack([lines["from"], lines["to"]]).astype(int) - 1
    n_lines, n_buses = ends.shape[1], int(ends.max()) + 1
    incidence = np.zeros((n_lines, n_buses))
    incidence[np.arange(n_lines), ends[0]], incidence[np.arange(n_lines), ends[1]] = 1.0, -1.0
    weighted = lines["susceptance"][:, None] * incidence
    ptdf = np.zeros((n_lines, n_buses))
    ptdf[:, 1:] = np.linalg.solve((incidence.T @ weighted)[1:, 1:], weighted[:, 1:].T).T  # angle 0 at the first bus
    return Grid(
        **{name: column for name, column in units.items() if name != "node"},
        share=loads["percent"] / 100.0,
        line_capacity=lines["capacity"],
        unit_flows=np.ascontiguousarray(ptdf[:, units["node"].astype(int) - 1]),
        load_flows=np.ascontiguousarray(ptdf[:, loads["node"].astype(int) - 1]),
    )

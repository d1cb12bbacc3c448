from __future__ import annotations

from fewsolves.paper.printed import Printed, printed, printed_ratio


def test_a_cell_of_the_paper():
    assert printed("q1_regret", "sfge", "kp-values") == Printed(35.4, 9.77)
    assert printed("q1_regret", "spo+", "kp-weights") is None, "not applicable there"
    assert printed("q1_regret", "shift", "kp-weights") is None, "not in the paper"
    assert round(printed_ratio("q1_regret", "gp-surrogate", "pfl", "kp-weights"), 2) == 0.58
    assert printed_ratio("q1_regret", "memo", "pfl", "kp-weights") is None

from __future__ import annotations

from fewsolves.paper.printed import Printed, printed, to_printed_pfl


def test_a_cell_of_the_paper():
    assert printed("q1_regret", "sfge", "kp-values") == Printed(35.4, 9.77)
    assert printed("q1_regret", "spo+", "kp-weights") is None, "not applicable there"
    assert printed("q1_regret", "shift", "kp-weights") is None, "not in the paper"
    assert round(to_printed_pfl(printed("q1_regret", "gp-surrogate", "kp-weights"), "kp-weights"), 2) == 0.58
    assert to_printed_pfl(None, "kp-weights") is None

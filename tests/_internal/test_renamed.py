import pytest

import fewsolves as fs
from fewsolves._internal.renamed import renamed_argument, renamed_attribute
from fewsolves.fitting.summary import Summary
from fewsolves.reporting import Run


class Box:
    content = 3
    inside = renamed_attribute("inside", "content")

    @renamed_argument("anew", "recompute")
    def open(self, *, recompute=False):
        return recompute


def test_old_argument_is_accepted_with_a_warning():
    with pytest.warns(DeprecationWarning, match="anew= is now recompute=") as caught:
        assert Box().open(anew=True)
    assert caught[0].filename == __file__
    assert Box().open(recompute=True) and not Box().open()


def test_old_attribute_is_read_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"\.inside is now \.content") as caught:
        assert Box().inside == 3
    assert caught[0].filename == __file__


@pytest.mark.parametrize("draw", [fs.plot.training, fs.plot.frontier, fs.plot.calibration, fs.report])
def test_old_argument_told_is_accepted(draw):
    with pytest.warns(DeprecationWarning, match="told= is now source="), pytest.raises(fs.InputError, match="expected"):
        draw(told=3)


def test_old_attribute_told_of_a_run_is_read():
    with pytest.warns(DeprecationWarning, match=r"\.told is now \.message"):
        assert Run({"message": "Regret fell."}).told == "Regret fell."
    assert Run({"told": "Regret fell."}).message == "Regret fell.", "a result of an earlier version"


def test_old_attribute_told_of_a_summary_is_read():
    summary = Summary("Regret fell.", "Score it.", None, False, 0, 0, 0, 0.0, 0.0, 0.0)
    with pytest.warns(DeprecationWarning, match=r"\.told is now \.message"):
        assert summary.told == "Regret fell."
    record = summary.record()
    assert record["told"] == record["message"] == "Regret fell.", "result.json has both keys for one release"

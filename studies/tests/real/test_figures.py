import sys
from pathlib import Path

from fewsolves_studies.real.figures import frontier

sys.path.insert(0, str(Path(__file__).parent))
from made_up import some

from test_tables import STUDY


def test_real_figures_every_run_is_inside_the_picture_and_no_name_covers_one():
    done = some()
    done[1].result["costs"] = [cost - 2.9 for cost in done[1].result["costs"]]  # PFL just above the left end of "truth"
    (axes,) = frontier(STUDY, done).axes
    runs = [each for each in done if each.cell.decide is None]
    at = axes.transData.transform([(each.solves, each.mean) for each in runs])
    assert axes.bbox.count_contains(at) == len(runs)
    names = {text.get_text(): text.get_window_extent() for text in axes.texts}
    assert set(names) == {"forest", "truth"}
    assert not any(box.count_contains(at) for box in names.values())

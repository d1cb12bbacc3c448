import pytest

from fewsolves.execution.dispatch import MOST, Pace, batch_size


def pace(seconds, target=0.05):
    made = Pace(target)
    made.saw("solve", [seconds] * 3)
    return made


def test_one_row_at_a_time_while_nothing_is_known_and_where_solves_take_long():
    assert Pace(0.05).size("solve", 1000, 2) == 1
    assert pace(0.5).size("solve", 1000, 2) == 1
    assert pace(0.001).size("cost", 1000, 2) == 1


@pytest.mark.parametrize(("seconds", "rows"), [(0.005, 9), (0.001, 49), (1e-6, MOST), (0.0, MOST)])
def test_quick_solves_go_in_chunks_of_about_the_target(seconds, rows):
    assert pace(seconds).size("solve", 10**6, 2) == rows


def test_the_last_chunks_are_smaller_but_not_tiny():
    sizes, waiting = [], 400
    while waiting:
        sizes.append(pace(0.001, 0.25).size("solve", waiting, 2))
        waiting -= sizes[-1]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 100
    assert min(sizes[:-1]) == 63
    assert sum(sizes) == 400


def test_the_pace_follows():
    followed = pace(0.001)
    for _ in range(30):
        followed.saw("solve", [0.5])
    assert followed.size("solve", 1000, 2) == 1


@pytest.mark.parametrize(("total", "workers", "rows"), [(1, 4, 1), (800, 2, 100), (7, 1, 2)])
def test_batches(total, workers, rows):
    assert batch_size(total, workers) == rows

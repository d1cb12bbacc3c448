import json
import os
import subprocess
import sys

import pytest

from fewsolves.demo import demo
from fewsolves.demo.demo import FULL, OTHERS, Point, Size, demo_tiles, summary_lines
from fewsolves.errors import InputError
from fewsolves.methods.registry import DEFAULT
from fewsolves.reporting import Run

PFL = [Point(100.0, 20)]


def test_demo_every_method_has_one_budget_and_one_start_and_the_page_tells_what_came_of_it(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("COLUMNS", "160")
    demo.run_demo(tmp_path, "wsmc-10-50", 1, Size(rows=40, fresh_rows=30, solves=100, max_factor=2))
    printed = capsys.readouterr().out
    results = {name: json.loads((tmp_path / name / "result.json").read_text()) for name in (*OTHERS, DEFAULT)}
    read_on_validation = {results[name]["start_validation_regret"] for name in OTHERS}  # the default reads its own rows
    assert len(read_on_validation) == 1
    for name, result in results.items():
        assert result["config"]["data"] | {"n": 40, "backend": "milp"} == result["config"]["data"]
        assert sum(result["calls"]["solve"].values()) <= 100
        assert not any("the budget has no room for" in warning for warning in result["warnings"]), (
            "that was meant to be"
        )
        row = next(line for line in printed.splitlines() if line.strip(" │|┃").startswith(f"{name} "))
        assert f"{sum(result['calls']['solve'].values()):,}" in row
    lines = [line for line in printed.splitlines() if line.startswith(("Avoidable cost ", "Paid: ", "Otherwise: "))]
    assert len(lines) == 3
    page = (tmp_path / "report.html").read_text()
    assert "fewsolves demo: shifts that cover demand" in page
    assert all(line.replace("'", "&#39;") in page for line in lines)
    assert page.index("What other methods would have paid") < page.index("Calls by phase")
    assert f"report: {tmp_path / 'report.html'}" in printed


def test_demo_the_table_is_sorted_by_regret_and_relative_to_prediction_focused_learning(capsys):
    runs = {name: made(name, regret) for name, regret in {"pfl": 10.0, "shift": 5.0, DEFAULT: 2.5}.items()}
    rows = [line.split() for line in demo._table(runs, FULL).splitlines()[4:]]
    assert [row[0] for row in rows] == [DEFAULT, "shift", "pfl"]
    assert [row[2] for row in rows] == ["0.25", "0.50", "1.00"]


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        (["rich", "numba"], ["report: ", "Otherwise: pip install 'fewsolves[fast]'"]),
        (["matplotlib"], ["No report: fewsolves.reporting draws with matplotlib and writes with jinja2, and"]),
        (["jinja2"], ["pip install 'fewsolves[report]'"]),
    ],
)
def test_demo_without_an_extra_prints_its_table_and_says_what_to_install(missing, says, tmp_path):
    program = f"""
import sys
sys.modules.update(dict.fromkeys({missing!r}))
from functools import partial
from fewsolves.cli import main
from fewsolves.demo import demo
demo.run_demo = partial(demo.run_demo, size=demo.Size(rows=40, fresh_rows=10, solves=100, max_factor=1))
main(["demo", "--folder", "demo"])
"""
    environment = os.environ | {"COLUMNS": "160"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert all(f"\n{name} " in done.stdout for name in (*OTHERS, DEFAULT))
    assert all(one in done.stdout for one in says)
    assert (tmp_path / "demo" / DEFAULT / "result.json").exists()


def made(name, regret, solves=100):
    calls = {"solve": {"labels": 40, "online": solves - 40, "test": 7}, "cost": {"online": solves}}
    seconds = {"total": 3.0, "solver": 2.0, "solve": 2.0}
    return Run({"benchmark": "b", "method": name, "test_regret": regret, "calls": calls, "seconds": seconds})


class Counted:
    """A trial in which more solves make `pairs` better, and change nothing for the others."""

    size = FULL

    def __init__(self):
        self.trained = []

    def run(self, method, solves, *, highs):
        self.trained.append((method, solves, highs))
        return made(method, 400.0 / (solves / FULL.solves), solves) if method == "pairs" else made(method, 900.0)


def begun(regret):
    return {
        "pfl": PFL[:],
        **{name: [Point(900.0, FULL.solves)] for name in OTHERS[1:]},
        DEFAULT: [Point(regret, 900)],
    }


def test_demo_others_get_twice_the_solves_until_one_is_as_good():
    trial, curves = Counted(), begun(100.0)
    demo._search(trial, curves)
    assert [solves for name, solves, _ in trial.trained if name == "pairs"] == [
        2 * FULL.solves,
        4 * FULL.solves,
    ]
    assert curves["pairs"][-1] == Point(100.0, 4 * FULL.solves)
    assert sum(name == "shift" for name, *_ in trial.trained) == 1, "it had ended by itself"
    assert not any(highs for *_, highs in trial.trained), "solves are counted, HiGHS is not asked"


def test_demo_the_search_for_what_others_need_has_an_end():
    trial, curves = Counted(), begun(0.001)
    demo._search(trial, curves)
    assert max(solves for _, solves, _ in trial.trained) == FULL.max_factor * FULL.solves


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([Point(80.0, 1500), Point(60.0, 3000), Point(30.0, 6000)], "4 times as many, 30 s of HiGHS"),
        ([Point(80.0, 1500), Point(60.0, 3000)], "no other method was as good, not even with 3,000 solves (pairs)"),
        ([Point(30.0, 1500)], "pairs was as good with the same budget, for 1,500 solves"),
    ],
)
def test_demo_what_the_same_would_have_cost_otherwise(others, said):
    own = made(DEFAULT, 40.0, 1500)
    own.result["seconds"]["solve"] = 7.5
    gained, paid, otherwise = summary_lines({DEFAULT: own}, {"pfl": PFL, "pairs": others, DEFAULT: [Point(40.0, 1500)]})
    assert "Avoidable cost cut by 60%" in gained
    assert "1,500 solves, 5.0 for each of 300 rows: 7.5 s of HiGHS" in paid
    assert said in otherwise


def test_demo_nothing_gained_is_said():
    curves = {"pfl": PFL, DEFAULT: [Point(100.0, 500)]}
    assert summary_lines({DEFAULT: made(DEFAULT, 100.0)}, curves)[0].startswith("Avoidable cost not reduced.")


def test_demo_a_benchmark_that_highs_cannot_solve_is_refused_by_name():
    with pytest.raises(InputError, match=r"by HiGHS, and fleet has no such form; these have: kp-weights, .*wsmc-10-50"):
        demo.Trial.load("fleet", 0, FULL)


def test_demo_tiles_say_gain_price_and_what_others_need():
    curves = {
        DEFAULT: [Point(30.0, 1493)],
        "pfl": [Point(100.0, 123)],
        "shift": [Point(35.0, 1400), Point(29.0, 23888)],
    }
    assert [tile.value for tile in demo_tiles(curves)] == ["−70 %", "1,493", "16 times"]
    assert demo_tiles(curves)[2].label == "fewer solves than the next method, shift"
    curves["shift"].pop()
    assert demo_tiles(curves)[2] == ("no other", "method was as good, even with 1,400 solves")

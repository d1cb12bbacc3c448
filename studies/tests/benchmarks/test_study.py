from __future__ import annotations

import threading
from dataclasses import asdict, dataclass

import pytest

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.study import Study, made_under


def test_study_runs_are_found_before_and_after_they_are_folded_into_one_sorted_file(tmp_path):
    study = Study(tmp_path / "new")
    assert study.read() == {}
    for run in ("toy-128/sfge.2", "toy-64/sfge.10", "toy-64/sfge.2", "kp,delay=5ms/a b.0"):
        study.keep(run, {"regret": 1.5, "label": "ü"})
    names = ["kp,delay=5ms/a b.0", "toy-64/sfge.2", "toy-64/sfge.10", "toy-128/sfge.2"]
    before = study.read()
    assert list(before) == names
    study.fold()
    assert study.read() == before
    assert [path.name for path in study.folder.iterdir()] == ["runs.jsonl"]
    first = study.file.read_text().splitlines()[0]
    assert first == '{"run": "kp,delay=5ms/a b.0", "regret": 1.5, "label": "\\u00fc"}'


def test_study_a_run_that_was_made_again_takes_the_place_of_the_one_before(tmp_path):
    study = Study(tmp_path)
    for regret in (1, 2):
        study.keep("a.0", {"regret": regret})
        study.keep(f"b.{regret}", {"regret": regret})
        study.fold()
    study.keep("a.0", {"regret": 3})
    assert study.read() == {"a.0": {"regret": 3}, "b.1": {"regret": 1}, "b.2": {"regret": 2}}


def test_study_a_fold_that_was_cut_short_is_made_again(tmp_path):
    study = Study(tmp_path)
    study.keep("a.0", {"regret": 1})
    study.fold()
    study.keep("a.0", {"regret": 1})  # as after a kill between writing the file and removing what is in it
    (study.unfolded / ".b.0.json.123.part").write_text('{"run": ')  # and of a run that was just being kept
    study.fold()
    assert study.read() == {"a.0": {"regret": 1}}
    assert study.file.read_text().count("\n") == 1


def test_study_two_commands_do_not_write_at_the_same_time(tmp_path):
    study = Study(tmp_path)
    study.keep("a.0", {})
    writing = [threading.Thread(target=study.fold), threading.Thread(target=study.keep, args=("b.0", {}))]
    with Study(tmp_path)._alone():
        for one in writing:
            one.start()
            one.join(0.3)
        assert list(Study(tmp_path).read()) == ["a.0"]
        assert not study.file.exists()
    for one in writing:
        one.join()
    assert list(study.read()) == ["a.0", "b.0"]


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '{"regret": 1}', "<<<<<<< HEAD"])
def test_study_what_is_no_result_is_named_with_its_line(tmp_path, text):
    study = Study(tmp_path)
    study.keep("a.0", {})
    study.fold()
    with study.file.open("a") as file:
        file.write(text + "\n")
    with pytest.raises(
        InputError, match=r"runs\.jsonl, line 2: no result of a run .*remove it, and the run is made again"
    ):
        study.read()


def test_study_a_piece_that_is_no_result_is_named(tmp_path):
    study = Study(tmp_path)
    study.keep("kp/a.0", {})
    (study.unfolded / "kp" / "a.0.json").write_text("")
    with pytest.raises(InputError, match=r"kp/a\.0\.json: no result of a run"):
        study.read()


@dataclass(frozen=True)
class Before:
    beta: float = 1.0
    levels: tuple[float, ...] = (0.5, 0.8)


@dataclass(frozen=True)
class Now(Before):
    kernel: str = "rbf"


def test_study_settings_are_compared_by_what_the_run_recorded():
    result = {"config": {"loss": asdict(Before()) | {"levels": [0.5, 0.8]}, "train": {}, "seed": 0}}
    assert made_under(result, {"loss": Before()})
    assert made_under(result, {})
    assert not made_under(result, {"loss": Before(beta=2.0)})
    assert made_under(result, {"loss": Now()}), "a younger setting at its default is what the run did"
    assert not made_under(result, {"loss": Now(kernel="matern")})
    recorded = {"config": {"loss": asdict(Now()) | {"levels": [0.5, 0.8]}}}
    assert not made_under(recorded, {"loss": Before()}), "a setting that is gone"

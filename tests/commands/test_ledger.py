import csv
import io
import json
import os
import sqlite3

import numpy as np
import pytest
from click.testing import CliRunner

import fewsolves as fs
from fewsolves.cli import main
from fewsolves.data import split_rows
from fewsolves.errors import InputError, LedgerError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.identity.held_data import NOT_FOLLOWED
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.opening import HELD
from fewsolves.ledger.reading import evaluations, import_history, open_to_read
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.oracle import Oracle, SolveConfig
from problems_of_users import CHEAPEST, NEWSVENDOR, QUICK, demand_table, order, shortage_cost

X, Y = demand_table(30)


def call(*arguments):
    return CliRunner().invoke(main, ["ledger", *(str(a) for a in arguments)])


def trained(folder, problem=NEWSVENDOR, method="sfge", **options):
    split = split_rows(len(X), rng=np.random.default_rng(0), test=0.0)
    options = {"settings": QUICK, "predictor": "linear", **options}
    return fit(Plan(problem, X, Y, split, method=method, folder=folder, **options))


@pytest.fixture
def folder(tmp_path):
    trained(tmp_path)
    return tmp_path


def test_command_ledger_show_counts_by_phase(folder):
    done = call("show", folder)
    assert done.exit_code == 0, done.output
    assert "problem 'newsvendor', 30 rows, n_y = 3" in done.output
    assert "run 1: sfge, seed 0" in done.output
    assert "labels 30 · online 54 · probe 1" in done.output


def test_command_ledger_show_names_the_rows_that_failed_and_their_words_are_harmless(tmp_path):
    def fails(y_hat):
        if y_hat[0] == Y[7, 0]:
            raise ValueError("\x1b[31mno licence\x1b]0;title\x07")
        return y_hat

    problem = fs.Problem(solve=fails, cost=shortage_cost)
    ledger = open_ledger(tmp_path, problem, Y, identity="a")
    Oracle(problem, Y, solving=SolveConfig(on_failure="skip"), ledger=ledger).labels(np.arange(len(Y)))
    ledger.close()
    output = call("show", tmp_path).output
    assert "row 7: solve error" in output
    assert "no licence" in output
    assert "\x1b" not in output


@pytest.mark.parametrize(("number", "last"), [(20, "item 19"), (23, "item 19 and 3 more")])
def test_command_ledger_show_lists_what_is_not_compared(number, last, folder):
    with sqlite3.connect(folder / LEDGER_FILE) as file:
        items = json.dumps({f"item {k}": NOT_FOLLOWED for k in range(number)})
        file.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (HELD, items))
    file.close()
    assert call("show", folder).output.rstrip().endswith(f"because it cannot be inspected: {listed(19)}, {last}")


def listed(number):
    return ", ".join(f"item {k}" for k in range(number))


def test_command_ledger_verify(folder):
    done = call("verify", folder)
    assert (done.exit_code, "all intact" in done.output) == (0, True)
    connection = sqlite3.connect(folder / LEDGER_FILE)
    connection.execute(
        "UPDATE calls SET value = value + 1 WHERE seq = (SELECT min(seq) FROM calls WHERE kind = 'cost')"
    )
    connection.commit()
    connection.close()
    done = call("verify", folder)
    assert done.exit_code == 1
    assert "1 damaged" in done.output


def test_command_ledger_export_has_every_evaluation_with_its_regret(folder):
    done = call("export", folder, "--out", folder / "all.csv")
    assert done.exit_code == 0, done.output
    with (folder / "all.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["phase"] == "online"]
    assert len(rows) == 2 * 27
    for row in rows:
        y, y_hat = Y[int(row["example"])], np.array(json.loads(row["y_hat"]))
        assert float(row["regret"]) == pytest.approx(shortage_cost(y, y_hat) - shortage_cost(y, y))
        assert np.allclose(json.loads(row["decision"]), y_hat)
        noise = (y_hat - np.array(json.loads(row["centre"]))) / np.array(json.loads(row["sigma"]))
        assert np.abs(noise).max() < 6
        assert row["status"] == "ok"
    assert next(csv.DictReader(io.StringIO(call("export", folder).output)))["example"]


def test_command_ledger_a_folder_without_a_ledger_is_reported(tmp_path):
    done = call("show", tmp_path)
    assert done.exit_code == 1
    assert "there is no ledger in" in done.output


def history(seed=0):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(30), 5)
    y_hat = Y[rows] + rng.normal(size=(150, 3))
    return {
        "rows": rows,
        "y_hat": y_hat,
        "decisions": y_hat.copy(),
        "cost": np.array([shortage_cost(Y[i], z) for i, z in zip(rows, y_hat, strict=True)]),
    }


def test_command_ledger_history_is_taken_for_paid_and_learned_from(tmp_path):
    solved = []

    def solve(y_hat):
        solved.append(y_hat)
        return order(y_hat)

    past = history()
    assert import_history(tmp_path, NEWSVENDOR, Y, **past) == 150
    assert import_history(tmp_path, NEWSVENDOR, Y, **past) == 0, "once"
    ledger = open_ledger(tmp_path, NEWSVENDOR, Y, identity="a")
    oracle = Oracle(fs.Problem(solve=solve, cost=shortage_cost), Y, ledger=ledger)
    regret = oracle.regret(past["rows"], past["y_hat"], phase="online")
    assert len(solved) == 30, "labels only"
    known = oracle.part(np.arange(10, 20)).free_samples()
    assert known.number.tolist() == [5] * 10
    assert np.allclose(known.regret, regret[50:100])
    assert np.allclose(known.y_hat, past["y_hat"][50:100])
    ledger.close()
    fitted = trained(tmp_path, method="gp-surrogate")
    alone = trained(tmp_path / "alone", method="gp-surrogate")
    more = fitted.loss.surrogate.samples.n_of.mean() - alone.loss.surrogate.samples.n_of.mean()
    assert more > 2, "five free samples each, less what need not be paid any more"


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_command_ledger_history_from_a_file(kind, folder):
    past, path = history(), folder / f"history.{kind}"
    if kind == "npz":
        np.savez(path, row=past["rows"], y_hat=past["y_hat"], decision=past["decisions"], cost=past["cost"])
    else:
        names = ["row", *(f"y_hat_{k}" for k in range(3)), *(f"z_{k}" for k in range(3)), "cost"]
        table = np.column_stack([past["rows"], past["y_hat"], past["decisions"], past["cost"]])
        np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    done = call("import", folder, path)
    assert (done.exit_code, done.output) == (0, "150 new evaluations\n"), done.output
    trained(folder, settings=QUICK | {"max_epochs": 1})
    assert "imported" in call("show", folder).output


def test_command_ledger_export_to_a_file_that_cannot_be_written_is_one_line(folder):
    before = (folder / LEDGER_FILE).read_bytes()
    for name in ("missing/all.csv", "x" * 300, "/dev/full", LEDGER_FILE, "ledger.tally", "."):
        done = call("export", folder, "--out", folder / name)
        assert done.exit_code == 1, name
        assert done.output.count("\n") == 1 and "give another file" in done.output, done.output
    assert (folder / LEDGER_FILE).read_bytes() == before, "which paid answers are in"


def test_command_ledger_what_is_exported_can_be_imported(folder, tmp_path):
    path, before = tmp_path / "all.csv", trained(folder)
    written = call("export", folder, "--out", path).output
    number = int(written.split()[1].replace(",", ""))
    assert call("import", folder, path).output == "0 new evaluations\n", "all are there"
    other = tmp_path / "other"
    import_history(other, NEWSVENDOR, Y, **{name: values[:1] for name, values in history().items()})
    new = int(call("import", other, path).output.split()[0])
    assert 0 < new <= number, "an evaluation that two runs made is one"
    assert call("import", other, path).output == "0 new evaluations\n"
    again = trained(other)
    assert np.array_equal(again.best.values, before.best.values)
    assert again.oracle.calls.shared["solve"] >= before.oracle.calls.training(), "nothing of training is solved again"


def test_command_ledger_decisions_that_are_no_arrays_are_exported_and_imported(tmp_path):
    problem = fs.Problem(solve=lambda y: {"a": [[1], [2, 3]], "=b": (1.5, "x")}, cost=lambda y, z: float(y[0]))
    for name in ("one", "two"):
        open_ledger(tmp_path / name, problem, Y, identity="a").close()
    ledger = open_ledger(tmp_path / "one", problem, Y, identity="a")
    Oracle(problem, Y, ledger=ledger).regret(np.arange(5), Y[:5] + 1.0, phase="online")
    ledger.close()
    call("export", tmp_path / "one", "--out", tmp_path / "all.csv")
    done = call("import", tmp_path / "two", tmp_path / "all.csv")
    assert done.output == "10 new evaluations\n", done.output
    ledger = open_ledger(tmp_path / "two", problem, Y, identity="b")
    oracle = Oracle(fs.Problem(solve=None, cost=None, factory=lambda: 1 / 0), Y, ledger=ledger)
    assert oracle.labels(np.arange(5))[0] == {"a": [[1], [2, 3]], "=b": (1.5, "x")}
    ledger.close()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rows": np.full(150, 30)}, "entry 0 of the history is about row 30; the table has rows 0 to 29"),
        ({"y_hat": np.zeros((150, 2))}, r"y_hat \(N, 3\)"),
        ({"cost": np.full(150, np.nan)}, "cost contains NaN at row 0"),
        ({"decisions": np.full((150, 3), np.nan)}, "entry 0 of the history: .* NaN or inf"),
        ({"decisions": np.ma.masked_all((150, 3))}, "entry 0 of the history: .* masked"),
        ({"y_hat": np.zeros((150, 3), dtype="M8[D]")}, "y_hat must be a table of numbers: got datetime64"),
        ({"decisions": np.zeros((3, 3))}, "150 rows, 3 decisions"),
    ],
)
def test_command_ledger_wrong_history_is_named(change, says, tmp_path):
    with pytest.raises(InputError, match=says):
        import_history(tmp_path, NEWSVENDOR, Y, **history() | change)


EXPORT = "example,phase,run,status,y_hat,decision,cost\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("h.csv", b""),
        ("h.csv", b"\xff\xfe"),
        ("h.csv", b"row,y_hat_0,z_0,cost\n"),
        ("h.csv", (EXPORT + "0,online,1,ok,[1],{},2\n").encode()),
        ("h.csv", (EXPORT + '0,online,1,ok,[1],"' + "[" * 50_000 + '",2\n').encode()),
        ("h.csv", (EXPORT + '0,online,1,ok,"{""a"": 1}",[1],2\n').encode()),
        ("h.npz", b"PK\x03\x04"),
        ("h.csv", None),
        ("h.npz", None),
    ],
)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_command_ledger_a_file_that_is_no_history_is_one_line(name, content, folder):
    path = folder / name
    os.mkfifo(path) if content is None else path.write_bytes(content)
    done = call("import", folder, path)
    assert done.exit_code == 1, done.output
    assert "Traceback" not in done.output
    assert len(done.output.strip().splitlines()) <= 3, done.output


def test_command_ledger_history_of_another_problem_is_refused(folder):
    with pytest.raises(LedgerError, match="another problem"):
        import_history(folder, CHEAPEST, Y, **history())


def test_command_ledger_a_pickle_is_no_history(folder):
    np.savez(folder / "bad.npz", row=np.array([{"a": 1}], dtype=object), y_hat=1, decision=1, cost=1)
    done = call("import", folder, folder / "bad.npz")
    assert done.exit_code == 1
    assert "allow_pickle" in done.output
    (folder / "bad.csv").write_text("row,cost\n1,=cmd()\n")
    assert "is not a history" in call("import", folder, folder / "bad.csv").output


def test_command_ledger_a_failure_that_only_a_damaged_page_tells_of_is_not_exported(folder, monkeypatch):
    file = open_to_read(folder)
    before, query = list(evaluations(file)), file.query
    monkeypatch.setattr(
        file,
        "query",
        lambda sql, *given: [(1, None, 0), *query(sql, *given)] if "NOT IN" in sql else query(sql, *given),
    )
    assert file.fetch(1).status == "ok"
    assert len(list(evaluations(file))) == len(before)
    file.close()

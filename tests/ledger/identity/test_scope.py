import os

from fewsolves.ledger.identity.scope import Listed, Scope
from fewsolves.ledger.identity.syntax import syntax_of

LIMIT = 3


def scope_of(function):
    return Scope(function, syntax_of(function.__code__))


def test_scope_finds_names_of_the_module_and_of_functions_around():
    share = 0.5

    def solve(y):
        return y * LIMIT * share

    scope = scope_of(solve)
    assert dict(scope.named("LIMIT")) == {"LIMIT": 3}
    assert dict(scope.named("share")) == {"share": 0.5}
    assert list(scope.named("missing")) == []


def test_scope_reads_the_environment_by_constant_keys_alone(monkeypatch):
    monkeypatch.setenv("PLANT", "1")

    def solve(y, key):
        return os.environ["PLANT"], os.environ[key]

    scope = scope_of(solve)
    found = {path: value for chain in scope.syntax.chains for path, value in scope.chain(chain)}
    assert found["os.environ['PLANT']"] == "1"
    assert isinstance(found["os.environ"], Listed)


def test_scope_follows_an_import_in_the_body(tmp_path, monkeypatch):
    (tmp_path / "plant_of_the_user.py").write_text("LIMIT = 4\n")
    monkeypatch.syspath_prepend(tmp_path)

    def solve(y):
        from plant_of_the_user import LIMIT

        return y * LIMIT

    scope = scope_of(solve)
    (one,) = scope.syntax.imports
    assert dict(scope.imported(one)) == {"plant_of_the_user.LIMIT": 4}

import subprocess

from fewsolves._internal import commit


def test_commit_outside_a_checkout_the_commit_is_left_open(monkeypatch, tmp_path):
    monkeypatch.setattr(commit, "__file__", str(tmp_path / "commit.py"))
    assert commit.code_commit() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit.code_commit() is None, "no git at all"


def test_commit_a_change_of_the_package_marks_the_commit_one_of_the_results_does_not(monkeypatch, tmp_path):
    code, results = tmp_path / "package" / "_internal" / "commit.py", tmp_path / "results.txt"
    code.parent.mkdir(parents=True)
    code.write_text("1")
    results.write_text("1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(commit, "__file__", str(code))
    clean = commit.code_commit()
    assert clean is not None and len(clean) == 12
    results.write_text("2")
    assert commit.code_commit() == clean
    assert commit.code_commit(results) == f"{clean}+", "of another package that counts"
    code.write_text("2")
    assert commit.code_commit() == f"{clean}+"

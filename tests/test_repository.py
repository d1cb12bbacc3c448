"""What surrounds the package says the same thing everywhere: versions, Pythons, commands, files."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import fewsolves

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOST = ROOT / ".github"
WORKFLOWS = sorted((HOST / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (HOST / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
MAKEFILE = (ROOT / "Makefile").read_text()


def read(path):
    return yaml.safe_load(path.read_text())


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_repository_version_citation_and_changelog_agree():
    headings = re.findall(r"^## \[(.+?)\](?: - (.+))?$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    (newest, _), *_ = released = [(name, date) for name, date in headings if name != "Unreleased"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for _, date in released)
    assert [Version(name) for name, _ in released] == sorted((Version(name) for name, _ in released), reverse=True)
    assert str(read(ROOT / "CITATION.cff")["version"]) == newest
    version = Version(fewsolves.__version__)
    if version.is_devrelease:
        assert headings[0][0] == "Unreleased", "what is new has a place"
        assert version > Version(newest)
    else:
        assert fewsolves.__version__ == newest


def test_repository_the_version_stands_in_one_place():
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]


def test_repository_the_pythons_that_are_promised_are_the_pythons_that_are_tested():
    promised = {found[1] for line in PROJECT["classifiers"] if (found := re.fullmatch(r".* :: (3\.\d+)", line))}
    tested = read(HOST / "workflows" / "test.yml")["jobs"]["test"]["strategy"]["matrix"]["python-version"]
    assert promised <= set(tested), "a Python may be tested before it is promised"
    assert PROJECT["requires-python"] == f">={min(promised, key=Version)}"


def test_repository_classifiers_promise_no_system_that_is_not_tested():
    assert [line for line in PROJECT["classifiers"] if line.startswith("Operating System")] == [
        "Operating System :: POSIX :: Linux"
    ]
    jobs = {name: job for path in WORKFLOWS for name, job in read(path)["jobs"].items()}
    assert {name for name, job in jobs.items() if job["runs-on"] != "ubuntu-latest"} == {"portable"}
    portable = jobs["portable"]
    assert portable["strategy"]["matrix"]["system"] == ["macos-latest", "windows-latest"]
    assert portable["steps"][-1]["run"] == "python -m pytest -m portable tests", "the serial part"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_repository_workflows_are_whole(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow[True], "when it runs: YAML takes `on` for a truth value"
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] > 0
        assert set(job) <= {"needs", "runs-on", "timeout-minutes", "strategy", "environment", "permissions", "steps"}
        assert set([job["needs"]] if "needs" in job else []) <= set(workflow["jobs"])
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        assert "@" in step.get("uses", "@"), "of a stated version"


def test_repository_workflows_ask_for_targets_that_make_has():
    targets = [
        word
        for path in WORKFLOWS
        for step in steps(read(path))
        for command in re.findall(r"^make (.+)$", step.get("run", ""), flags=re.MULTILINE)
        for word in command.split()
        if "=" not in word
    ]
    assert {"lint", "suite", "test", "dist"} <= set(targets)
    for target in targets:
        name = re.escape(target.replace(".venv/ready", "$(READY)"))
        assert re.search(rf"^{name}:", MAKEFILE, flags=re.MULTILINE), target


def test_repository_a_tag_is_published_by_trusted_publishing_and_only_after_it_was_tried():
    workflow = read(HOST / "workflows" / "release.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert any("make test dist" in step.get("run", "") for step in build["steps"])
    assert "secrets." not in (HOST / "workflows" / "release.yml").read_text()


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_repository_issue_forms_are_whole(path):
    form = read(path)
    assert form["name"]
    assert form["description"]
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in fields}) == len(fields)
    assert all(part["type"] in ("input", "textarea") and part["attributes"]["label"] for part in fields)


def test_repository_a_bug_report_asks_for_a_reproducer_and_the_version():
    fields = {part["id"]: part for part in read(HOST / "ISSUE_TEMPLATE" / "bug.yml")["body"] if "id" in part}
    assert "fewsolves --version" in fields["version"]["attributes"]["label"]
    for name in ("reproducer", "version"):
        assert fields[name]["validations"] == {"required": True}
    assert {path.stem for path in FORMS} == {"bug", "feature", "question"}


def test_repository_hooks_run_what_make_lint_runs():
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    hooks = [hook["entry"].removeprefix(".venv/bin/").split(" --")[0] for hook in local["hooks"]]
    recipe = re.search(r"^lint:.*\n((?:\t.+\n)+)", MAKEFILE, flags=re.MULTILINE)[1]
    linted = [line.strip().removeprefix("$(BIN)/").split(" --")[0].removesuffix(" .") for line in recipe.splitlines()]
    assert hooks == linted
    assert local["repo"] == "local"
    assert all(hook["language"] == "system" for hook in local["hooks"])


def test_repository_what_the_development_environment_takes_is_pinned():
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    extras = PROJECT["optional-dependencies"]
    wanted = [
        *PROJECT["dependencies"],
        *(line for name in ("dev", "cli", "report", "parquet", "examples", "ray", "docs") for line in extras[name]),
    ]
    names = {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in wanted} - {"fewsolves"}
    assert names <= pinned


def test_repository_the_oldest_versions_and_the_bill_of_materials_follow_from_what_is_declared():
    def printed(what):
        command = [sys.executable, str(ROOT / ".ci" / "versions.py"), what]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert {"numpy==1.26", "torch==2.4", "numba==0.60"} <= set(printed("oldest").split())
    parts = json.loads(printed("materials"))["components"]
    pinned = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line and line[0] != "#"]
    assert len(parts) == len(pinned)
    assert all(part["name"] and part["version"] for part in parts)


@pytest.mark.parametrize("folder", ["ledger", "oracle"])
def test_repository_every_module_of_what_keeps_and_pays_has_a_test_file(folder):
    modules = (path for path in (ROOT / "src/fewsolves" / folder).rglob("*.py") if path.name != "__init__.py")
    mirrored = [
        ROOT / "tests" / path.relative_to(ROOT / "src/fewsolves").with_stem(f"test_{path.stem}") for path in modules
    ]
    assert [str(path) for path in mirrored if not path.exists()] == []


def test_repository_names_of_tests_begin_with_their_subject():
    """So that `pytest -k ledger` finds what is about ledgers; tests/methods/staged is being rewritten."""
    files = (path for tests in ("tests", "studies/tests") for path in (ROOT / tests).rglob("test_*.py"))
    named = [
        f"{path.relative_to(ROOT)}::{name}"
        for path in files
        if path.parent.name != "staged"
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    ]
    no_subject = re.compile(r"::test_(a|an|the|it|its|what|who|of|with|without|where|no|every|all)_")
    assert [name for name in named if no_subject.search(name)] == []


def test_repository_heavy_packages_are_extras():
    """torch, and numba with llvmlite, are most of what used to be installed; the default uses neither."""
    names = {re.match(r"[\w.-]+", line)[0] for line in PROJECT["dependencies"]}
    assert not names & {"torch", "numba"}
    assert {"fast", "torch"} <= set(re.search(r"\[(.*)\]", PROJECT["optional-dependencies"]["all"][0])[1].split(","))


def ci(name):
    """A script of .ci as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_repository_lock_files_agree_with_the_constraints_and_with_the_bill_of_materials():
    lock, versions = ci("lock"), ci("versions")
    assert list(lock.differences()) == []
    text = (ROOT / "constraints.txt").read_text()
    bill = versions.materials([line for line in text.splitlines() if "==" in line])["components"]
    known = {(lock._name(one["name"]), one["version"]) for one in bill}
    for version in lock.VERSIONS:
        locked = lock.pinned((ROOT / "locks" / f"linux-{version}.txt").read_text())
        assert {"numpy", "scikit-learn", "numba"} <= locked.keys()
        assert set(locked.items()) <= known


def test_repository_workflows_name_actions_by_commit():
    used = [
        line.strip().removeprefix("- ")
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    assert len(used) > 5
    assert [line for line in used if not re.fullmatch(r"uses: [\w./-]+@[0-9a-f]{40}  # v[\d.]+", line)] == []


def test_repository_has_no_pictures_at_its_top():
    """An example draws its picture where it is started, which is often here."""
    assert subprocess.run(["git", "check-ignore", "-q", "newsvendor.png"], cwd=ROOT, check=False).returncode == 0
    tracked = subprocess.run(["git", "ls-files", ":(glob)*.png"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert tracked.stdout == ""

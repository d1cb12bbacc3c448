"""Reference of the site: a page for each public name, with its parameters, attributes and methods, from docstrings."""

from __future__ import annotations

import importlib
import inspect
import re

import fewsolves

GROUPS = {
    "Bring a problem": ["Problem", "Infeasible"],
    "Ask before you pay": ["doctor", "quote"],
    "Train": ["DecisionRegressor", "Budget", "SolveConfig", "TrainConfig", "Predictor"],
    "Look at the result": ["Regrets", "compare", "ModelComparison", "plot", "report", "callbacks"],
    "Use it elsewhere": ["load", "DecisionModel"],
    "Your own loop": ["DecisionLoss", "GPSurrogateLoss", "GPSurrogateConfig", "Oracle", "Plan", "fit"],
    "Exported surrogates": ["load_surrogate", "save_surrogate", "ExportedSurrogate"],
    "Your own method": ["Loss", "Trainer", "GradientTrainer", "Context", "Outcome", "Demand", "Method"],
    "With PyEPO": ["problem_from_pyepo", "PyEPOLoss"],
    "Tests of what you bring": ["testing"],
    "Errors": ["FewsolvesError", "FewsolvesWarning", "InputError", "SolverError", "NotApplicableError", "BudgetSpent"],
}
RETURNED = {  # what public names give back, on the page of that name
    "DecisionRegressor": [
        "fitting.summary.Summary",
        "fitting.summary.Gain",
        "oracle.Calls",
        "data.Split",
        "oracle.failures.Failed",
        "methods.gp_surrogate.surrogate.calibration.Calibration",
        "reporting.Run",
    ],
    "doctor": ["diagnosis.finding.Diagnosis", "diagnosis.finding.Finding"],
    "quote": ["quoting.quote.Quote", "quoting.quote.Line"],
    "fit": ["fitting.result.Fit", "methods.reading.Reading"],
    "Trainer": ["methods.base.StartConfig"],
    "Context": ["methods.base.State", "predictors.inputs.Inputs"],
}
ROUTING = "set_fit_request, set_score_request"  # of scikit-learn, made for each estimator; docs/scikit-learn.md
MODULES = {name: f"fewsolves.{name}" for name in ("plot", "callbacks", "testing")}
TOGETHER = {  # groups that share one page
    "Errors": "errors",
    "Exported surrogates": "surrogates",
    "Your own method": "own-method",
    "With PyEPO": "pyepo",
}


def groups() -> dict[str, list[str]]:
    """Every public name in its group; a new one without a group comes last."""
    named = {name for names in GROUPS.values() for name in names}
    rest = sorted(set(fewsolves.__all__) - named)
    return GROUPS | ({"Others": rest} if rest else {})


def names() -> dict[str, str]:
    """Public names and their pages on the site."""
    return {name: f"api/{TOGETHER.get(title, name)}.md" for title, listed in groups().items() for name in listed}


def pages() -> dict[str, str]:
    """The pages, by name on the site."""
    found = {"api/index.md": _index()}
    for title, listed in groups().items():
        if title in TOGETHER:
            found[f"api/{TOGETHER[title]}.md"] = f"# {title}\n\n" + "\n".join(_described(name) for name in listed)
        else:
            found |= {f"api/{name}.md": f"# {name}\n\n{_described(name)}" for name in listed}
    return found


def _described(name: str) -> str:
    if name in MODULES:
        return _directive("automodule", MODULES[name], members=True)
    value = getattr(fewsolves, name)
    text = _directive(
        "autoclass" if inspect.isclass(value) else "autofunction", f"fewsolves.{name}", members=inspect.isclass(value)
    )
    for path in RETURNED.get(name, ()):
        module, _, own = path.rpartition(".")
        text += f"\n## {own}\n\n" + _directive("autoclass", f"fewsolves.{module}.{own}", members=True)
    return text


def _directive(kind: str, path: str, *, members: bool) -> str:
    option = f"   :members:\n   :exclude-members: {ROUTING}\n" if members else ""
    return f"```{{eval-rst}}\n.. {kind}:: {path}\n{option}```\n"


def _index() -> str:
    lines = [
        "# Reference",
        "",
        "Every public name, by what it is for. `import fewsolves as fs`, then `fs.NAME`.",
        "`help(fs.NAME)` shows the same in Python.",
    ]
    for title, listed in groups().items():
        lines += ["", f"## {title}", "", "| name | what it is |", "|---|---|"]
        page = TOGETHER.get(title)
        lines += [f"| [`{name}`]({page or name}.md) | {_first_sentence(name)} |" for name in listed]
        lines += ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *([page] if page else listed), "```"]
    return "\n".join(lines) + "\n"


def _first_sentence(name: str) -> str:
    value = importlib.import_module(MODULES[name]) if name in MODULES else getattr(fewsolves, name)
    first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    first = re.sub(r" \(docs/[\w/-]+\.md\)", "", first)  # its own page has the link
    return first.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_") if "`" not in first else first

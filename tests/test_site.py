"""The documentation site is whole, before Sphinx sees it: pages, links, navigation; answers are near to its home."""

import json
import re
import sys
from collections import deque
from pathlib import Path, PurePosixPath

import pytest

import fewsolves

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import build  # noqa: E402

import badges  # noqa: E402
import gallery  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402
import search  # noqa: E402

TREE = re.compile(r"```\{toctree\}\n((?::.*\n)*)\n((?:.+\n)*)```")


@pytest.fixture(scope="module")
def site():
    return build.lay_out({f"examples/{path.stem}.md": f"# {path.stem}\n" for path in gallery.EXAMPLES})


def links(site, name):
    """Pages and files that a page of the site leads to."""
    text = pages.FENCED.sub("", site.pages[name])
    for link in pages.TARGET.findall(text):
        if not re.match(r"[a-z]+:|#", link[1]):
            path = link[1].partition("#")[0]
            yield PurePosixPath(pages.os.path.normpath(PurePosixPath(name).parent / path)).as_posix()


def below(site, name):
    """Pages that the navigation has under a page."""
    for _, listed in TREE.findall(site.pages[name]):
        for line in listed.split():
            yield line.removeprefix("/") if line.startswith("/") else f"{PurePosixPath(name).parent}/{line}"


def test_site_every_link_of_the_site_leads_to_a_page_or_a_file_of_it(site):
    known = {f"{name}.md" for name in site.pages} | set(site.files)
    dead = {f"{name}: {link}" for name in site.pages for link in links(site, name) if link not in known}
    assert not dead


def test_site_the_navigation_has_every_page_of_the_docs_once(site):
    listed = [child for name in site.pages for child in below(site, name)]
    assert not [name for name in listed if name not in site.pages]
    assert len(listed) == len(set(listed))
    docs = {pages.place(path.relative_to(ROOT).as_posix()) for path in (ROOT / "docs").rglob("*.md")} - {"index.md"}
    docs |= {pages.place(page) for page in pages.research()}
    assert not docs - {f"{name}.md" for name in listed}


def test_site_has_at_most_120_pages_and_no_mirror_of_a_source(site):
    assert len(site.pages) + len({"search", "genindex"}) <= 120
    assert not [name for name in site.files if not name.endswith(pages.PICTURES)]


def test_site_links_to_sources_lead_to_a_code_host_where_one_is_named(monkeypatch):
    monkeypatch.setattr(pages, "SOURCE", "https://host/project/blob/main")
    text = pages.Site({}).rewritten("docs/methods/pfl.md", "[a](../../src/fewsolves/problem.py)")
    assert text == "[a](https://host/project/blob/main/src/fewsolves/problem.py)"


@pytest.mark.parametrize("name", sorted(badges.badges()))
def test_site_the_badges_of_readme_are_true(name):
    assert (badges.FOLDER / f"{name}.svg").read_text() == badges.badges()[name], "python docs/site/badges.py"
    assert f"![{name}](docs/pictures/{name}.svg)".lower() in (ROOT / "README.md").read_text().lower()


@pytest.mark.parametrize(
    ("words", "page"),
    [
        *((word, "modelling-layers") for word in ("gurobi", "pyomo", "or-tools", "cvxpy", "cp-sat")),
        *((word, "predictors") for word in ("lightgbm", "xgboost")),
        *(("resume", "ledger"), ("drift", "refit"), ("time order", "validation")),
        *(("instances", "problem"), ("slurm", "cluster")),
    ],
)
def test_site_the_search_puts_the_page_that_a_word_is_about_first(site, words, page):
    about = {name: [word.lower() for word in search.keywords(text)] for name, text in site.pages.items()}
    assert [name for name, named in about.items() if words in named] == [page]
    assert json.dumps(page) in search.scorer(site.pages)


def test_site_words_that_a_page_is_about_become_metadata():
    text = "# Title\n\n<!-- keywords: one, two\n words -->\n\nText.\n"
    assert search.keywords(text) == ["one", "two words"]
    assert search.with_keywords(text).startswith('---\nmyst:\n  html_meta:\n    "keywords": "one, two words"\n---\n')
    assert "<!--" not in search.with_keywords(text)


def test_site_every_public_name_has_a_page_in_one_group():
    named = [name for names in reference.groups().values() for name in names]
    assert sorted(named) == sorted([*fewsolves.__all__, "testing"])


def test_site_links_are_turned_and_code_is_left_alone():
    site = pages.Site({"Budget": "api/Budget.md"})
    text = (
        "[a](../src/fewsolves/plot.py) [b](ledger.md#x) [c](../examples/01_newsvendor.py) [d](../pyproject.toml) "
        "[e](https://e.org) [f](#own) `fs.Budget(solves=1)` [`fs.Budget`](budgets.md)\n\n```text\n[x](ledger.md)\n```\n"
    )
    assert site.rewritten("docs/refit.md", text) == (
        "[a](api/plot.md) [b](ledger.md#x) [c](examples/01_newsvendor.md) [d](source:../../../pyproject.toml) "
        "[e](https://e.org) [f](#own) [`fs.Budget(solves=1)`](api/Budget.md) [`fs.Budget`](budgets.md)\n\n"
        "```text\n[x](ledger.md)\n```\n"
    )


@pytest.mark.parametrize(
    ("question", "page", "answer"),
    [
        ("How do I choose a method?", "methods/index", "| method | fits | solves per row | when |"),
        ("What will it cost?", "budgets", "fs.quote(problem, X, Y"),
        ("How do I retrain?", "refit", "model.refit("),
        ("What does this attribute mean?", "api/DecisionRegressor", "autoclass:: fewsolves.DecisionRegressor"),
        ("How do I plot?", "results", "fs.plot.training(model)"),
    ],
)
def test_site_five_questions_are_answered_within_two_clicks_from_home(site, question, page, answer):
    assert question in site.pages["index"]
    clicks, ahead = {"index": 0}, deque(["index"])
    while ahead:
        name = ahead.popleft()
        for link in links(site, name):
            target = link.removesuffix(".md")
            if target in site.pages and target not in clicks:
                clicks[target] = clicks[name] + 1
                ahead.append(target)
    assert clicks[page] <= 2
    assert answer in site.pages[page]
    entry = next(line for line in site.pages["index"].splitlines() if question in line)
    assert f"]({page}.md" in entry, "one click, from the question itself"


def test_site_what_a_browser_would_ask_another_host_for_is_found(tmp_path):
    (tmp_path / "good.html").write_text('<a href="https://e.org">e</a><script src="a.js"></script><img src="a.png">')
    (tmp_path / "good.css").write_text("b { background: url(a.png) }")
    assert not build.requests_elsewhere(tmp_path)
    for number, text in enumerate(('<script src="https://cdn/a.js">', '<link rel="stylesheet" href="//cdn/a.css">')):
        (tmp_path / f"{number}.html").write_text(text)
    (tmp_path / "bad.css").write_text('@import "https://cdn/b.css"; @font-face { src: url(https://cdn/c.woff) }')
    assert len(build.requests_elsewhere(tmp_path)) == 4


def test_site_what_an_example_printed_is_shown_again_until_its_code_changes(tmp_path, monkeypatch):
    example, runs = tmp_path / "01_adding_up.py", []
    draws = 'from pathlib import Path\n\nPath("drawn.png").write_bytes(b"picture")\n'
    example.write_text(f'"""Adds up.\n\nRun: python examples/01_adding_up.py\n"""\n\n{draws}print(1 + 1)\n')
    monkeypatch.setattr(gallery, "EXAMPLES", [example])
    run = gallery.subprocess.run
    monkeypatch.setattr(gallery.subprocess, "run", lambda *a, **k: runs.append(a) or run(*a, **k))
    for _ in range(2):
        (page,) = gallery.pages(tmp_path / "kept", jobs=1).values()
        assert "# Adding up\n\nAdds up.\n" in page
        assert "```text\n2\n```" in page
        assert "Run:" not in page
        assert "](01_adding_up.png)" in page
    assert gallery.figures(tmp_path / "kept") == {"examples/01_adding_up.png": tmp_path / "kept" / "01_adding_up.png"}
    assert len(runs) == 1
    example.write_text(example.read_text().replace("1 + 1", "2 + 2"))
    assert "```text\n4\n```" in gallery.pages(tmp_path / "kept", jobs=1)["examples/01_adding_up.md"]


def test_site_every_picture_is_shown_by_a_page_and_is_small():
    pictures = [path for path in (ROOT / "docs" / "pictures").iterdir() if path.suffix in pages.PICTURES]
    texts = "".join(path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
    assert [path.name for path in pictures if f"pictures/{path.name})" not in texts] == []
    assert [path.name for path in pictures if path.stat().st_size > 150_000] == []

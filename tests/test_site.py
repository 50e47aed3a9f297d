"""Sources of the site: tables of learners, API index, tables of contents, links. `make docs` builds the site."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from types import ModuleType

import claim_pages
import generated
import keywords
import learner_map
import links
import project_pages
import pytest
import reference
import subscripts
from rejections import rejected

import hannan as hn
from benchmarks.tournament.field import contestants
from benchmarks.tournament.rules import SETTINGS
from hannan.learners.learner import Learner
from hannan.paper import claims

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.mark.parametrize(
    "module", [claim_pages, keywords, learner_map, links, project_pages, reference, subscripts, generated]
)
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def contents() -> list[str]:
    """The pages that the tables of contents name."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    fences = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    return [line for fence in fences for line in fence.splitlines() if line and not line.startswith(":")]


def test_every_page_is_listed_once() -> None:
    named = contents()
    assert len(named) == len(set(named))
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix("").as_posix()
        if name != "index" and name.split("/")[0] not in ("api", "examples", "project", "learners"):
            assert name in named, f"docs/{name}.md must be in a toctree of docs/index.md"


def test_api_index_has_one_line_per_public_name() -> None:
    names = sorted({*hn.__all__, *hn._EXTRAS} - {"__version__"})
    assert sorted(re.findall(r"^   hannan\.(\w+)$", reference.index(), re.MULTILINE)) == names
    assert all(listed for listed in reference.listed().values())
    rejected(lambda: reference.topic("attic"), "attic")


def test_tables_have_every_learner_with_its_bound() -> None:
    rows = {(row.name, row.promise): row for row in learner_map.rows()}
    for setting in SETTINGS:
        for contestant in contestants(setting):
            row = rows[contestant.name, contestant.promise]
            assert row.seen == learner_map.SEEN[setting]
            learner = learner_map.built(setting, contestant)
            if row.bound == "withheld":
                with pytest.raises(ValueError, match=re.escape(row.against)):
                    learner.bound(rounds=learner_map.ROUNDS)
                continue
            bound = learner.bound(rounds=learner_map.ROUNDS)
            assert float(row.bound) == pytest.approx(bound.value, rel=6e-3)
            assert row.against.startswith({"iid": "i.i.d."}.get(bound.against, bound.against))


def test_tables_name_the_default_of_each_setting() -> None:
    for setting in SETTINGS:
        assert learner_map.written(setting) == learner_map.built(setting, contestants(setting)[0])
        assert learner_map.certified(setting).startswith("bound")


def test_every_learner_is_in_the_tables() -> None:
    shown = " ".join(row.code for row in learner_map.rows()) + " ".join(need.code for need in learner_map.NEEDS)
    public = {name: getattr(hn, name) for name in hn.__all__}
    kinds = [name for name, value in public.items() if isinstance(value, type) and issubclass(value, Learner)]
    assert len(kinds) > 8
    assert [name for name in kinds if f"{name}(" not in shown] == []


def test_learners_for_requirements_satisfy_them() -> None:
    for need in learner_map.NEEDS:
        bound, against = learner_map.proved(need.learner(), **need.asked)
        # Every learner listed for a need has a bound, except two whose bound depends on observed losses or is an order
        # only.
        assert bound != "withheld" or need.code in ("hn.AdaHedge(n)", "hn.Thompson(n)"), against


def test_the_page_of_claims_has_every_claim() -> None:
    page = claim_pages.page()
    for claim in claims():
        assert f"--only {claim.name}`" in page
        assert f"### {claim.number} ({claim.label})" in page
        assert claim_pages._line(claim.statement) in page


def test_generated_parts_of_pages_are_up_to_date() -> None:
    """`make pages` writes it."""
    assert [page.name for page in generated.pages()] == ["all_learners.md", "claims.md", "which.md"]
    for page in generated.pages():
        text = page.read_text(encoding="utf-8")
        assert generated.fresh(text) == text, f"docs/{page.name} is out of date: run make pages"
    shown = (DOCS / "which.md").read_text(encoding="utf-8")
    assert set(re.findall(r"made: (\S+)", shown)) == {"which-first", "which-needs"}
    assert "`hn.Bandit(n)`" in shown


def test_tables_of_learners_round_bounds_up() -> None:
    for setting in SETTINGS:
        learner = learner_map.written(setting)
        bound = learner.bound(rounds=learner_map.ROUNDS).value
        assert float(learner_map.proved(learner)[0]) >= bound * (1.0 - 1e-12)


def test_control_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html#end">b</a><a href="#top">t</a>')
    (tmp_path / "b.html").write_text('<p id="end"></p><a href="https://example.org">elsewhere</a><img src="a.html">')
    assert links.broken(tmp_path) == []
    assert links.main(tmp_path) == 0
    links.read.cache_clear()
    (tmp_path / "c.html").write_text(
        '<a href="b.html#no"></a><a href="d.html"></a><script src="https://x.org/a.js"></script>'
    )
    found = links.broken(tmp_path)
    assert [told.split(": ")[1].split(" ")[0] for told in found] == ["b.html#no", "d.html", "https://x.org/a.js"]
    assert links.main(tmp_path) == 1

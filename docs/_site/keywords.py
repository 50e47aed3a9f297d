"""Words that readers search for and that pages do not use: the search of the site finds the pages by them."""

from __future__ import annotations

from typing import Any

from docutils import nodes

#: Page -> words. Several words of a phrase are listed one by one, as the search splits its query.
KEYWORDS: dict[str, str] = {
    "certificate": "explain output meaning label",
    "combine": "ensemble stacking averaging blend weights nixtla statsforecast cross_validation mlforecast",
    "compared": "alternative versus comparison benchmark vowpal river mabwiser mapie growthbook opendp",
    "evidence": "ab a/b ab-test experiment significance peeking stop stopping p-value confidence sequential",
    "fleets": "segment personalization personalisation user contextual",
    "intervals": "conformal prediction interval coverage uncertainty quantile aci mapie",
    "learners/expert_bandits": "contextual context exp4 features policy",
    "privacy": "dp dp-ftrl dpftrl gdpr tree aggregation local randomized response epsilon",
    "propensity": "ips logging",
    "replay": "off-policy offpolicy ope counterfactual ips doubly robust contextual",
    "serving": "docker kubernetes container deploy deployment dashboard postgres production database",
    "web": "feature flag flags openfeature ab a/b banner website dashboard fastapi flask django",
    "which": "choose thompson ucb exp3 hedge epsilon-greedy",
}


def add(app: Any, doctree: nodes.document) -> None:
    """Add the keywords of a page, which Sphinx indexes, to its metadata."""
    words = KEYWORDS.get(app.env.docname)
    if words:
        doctree += nodes.meta(name="keywords", content=",".join(words.split()), lang="en")


def missing(index: str) -> list[str]:
    """Return the words that the index of the search does not lead to their page.

    >>> missing("not an index")[:1]
    ['certificate: explain']
    """
    import json
    import re

    from snowballstemmer import stemmer

    found = re.search(r"Search\.setIndex\((.*)\)", index, re.DOTALL)
    data = json.loads(found[1]) if found else {"docnames": [], "terms": {}, "titleterms": {}}
    stem = stemmer("porter").stemWord
    lost = []
    for page, words in KEYWORDS.items():
        for word in words.split():
            found_in: list[int] = []
            for term in {word.lower(), stem(word.lower())}:
                for where in ("terms", "titleterms"):
                    pages = data[where].get(term, [])
                    found_in += pages if isinstance(pages, list) else [pages]
            if page not in [data["docnames"][k] for k in found_in]:
                lost.append(f"{page}: {word}")
    return lost


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-read", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

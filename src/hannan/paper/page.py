"""Verdicts as one page: the table, then every claim with its picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hannan.paper.claim import CORRECTIONS, OUTCOMES, Outcome, Verdict
from hannan.paper.running import Result, versions
from hannan.report import Badge, Block, Card, Facts, Figure, Fold, Link, Page, Section, Table, Text, Tile, Tiles
from hannan.report.blocks import Tone
from hannan.saving.formatting import number

TONES: dict[Outcome, Tone] = {
    "holds": "good",
    "improved": "good",
    "holds as corrected": "note",
    "fails as printed": "warn",
    "fails": "bad",
}
MARKS: dict[Outcome, str] = {
    "holds": "✓",
    "improved": "↑",
    "holds as corrected": "✎",
    "fails as printed": "✗",
    "fails": "!",
}
METHODS = {
    "exact": "checked exactly",
    "quadrature": "checked by quadrature",
    "simulation": "checked by simulation",
    "search": "searched for a counterexample",
}


def page(results: Iterable[Result], *, quick: bool, seed: int, printed: tuple[str, ...] = ()) -> Page:
    """Return the report of a run."""
    results = list(results)
    counts = {outcome: sum(r.verdict.outcome == outcome for r in results) for outcome in OUTCOMES}
    tiles = [Tile(str(len(results)), "claims checked")]
    tiles += [Tile(str(counts[o]), o, TONES[o], o) for o in OUTCOMES]
    controls = [r.control_failed for r in results if r.control is not None]
    tiles.append(Tile(f"{sum(map(bool, controls))}/{len(controls)}", "controls fail, as they must"))
    sections: list[Section] = [Section("Verdicts", (_table(results),), intro=_INTRO)]
    for title, intro in _chapters():
        chosen = tuple(_card(r) for r in results if r.claim.section == title)
        if chosen:
            # A chapter may have the name of one of its claims.
            chapter = Section(title, chosen, intro=intro)
            sections.append(replace(chapter, anchor=f"chapter-{chapter.id}"))
    sections.append(Section("Corrections", (_corrections(),), intro=_CORRECTIONS))
    facts = {
        "effort": "quick" if quick else "full",
        "seed": str(seed),
        "time": f"{sum(r.seconds for r in results):.0f} s of checking",
        **versions(),
    }
    if printed:
        facts["turned back into the printed form"] = ", ".join(printed)
    about = (
        "“Online Learning via the Differential Privacy Lens” (Abernethy, Jung, Lee, McMillan, Tewari, 2019): every "
        "definition, lemma, theorem and table, checked by computation. Beside each verdict stands its control, a run "
        "with one thing turned, that must fail."
    )
    return Page(
        "The differential privacy lens, claim by claim", f"{_answer(results, counts)} {about}", (Tiles(tuple(tiles)),),
        tuple(sections), facts, search="Search the claims",
    )  # fmt: skip


def _answer(results: list[Result], counts: dict[Outcome, int]) -> str:
    """What came out, in a sentence."""
    if not results:
        return "No claim of the paper was checked."
    words = {
        "holds": "hold as printed", "improved": "hold and are improved", "holds as corrected": "hold once corrected",
        "fails as printed": "fail as printed, with a witness",
    }  # fmt: skip
    told = ", ".join(f"{counts[outcome]} {words[outcome]}" for outcome in OUTCOMES if outcome in words)
    wrong = [r for r in results if r.verdict.outcome != r.claim.expected or r.control_failed is False]
    end = f"{len(wrong)} came out otherwise than expected" if wrong else "none came out otherwise than expected"
    return f"*Of {len(results)} claims {told}; {end}.*"


_INTRO = (
    "*holds*: as printed. *improved*: true as printed, and shown tighter. *holds as corrected*: with the condition or "
    "constant that is missing. *fails as printed*: a known error, with the witness. *fails*: not expected. Choose "
    "a head to sort, a tile to filter, a number to go to its claim."
)
_CORRECTIONS = (
    "Each can be turned back into the printed form with `hannan reproduce --as-printed NAME`; the claim that rests on "
    "it then fails."
)


def _chapters() -> list[tuple[str, str]]:
    from hannan.paper import chapters

    return [(chapter.title, chapter.intro) for chapter in chapters()]


def _badge(outcome: Outcome) -> Badge:
    return Badge(outcome, TONES[outcome], MARKS[outcome])


def _table(results: list[Result]) -> Table:
    rows = tuple(
        (Link(f"beside {r.claim.number}" if r.claim.ours else r.claim.number, r.claim.name), r.claim.statement,
        _badge(r.verdict.outcome), _control(r), r.verdict.value, r.verdict.bound, ) for r in results
    )  # fmt: skip
    words = tuple(r.verdict.outcome for r in results)
    heads = ("in the paper", "claim", "verdict", "control", "value", "bound")
    return Table(heads, rows, words=words)


def _control(result: Result) -> Badge | str:
    if result.control is None:
        return ""
    return Badge("fails", "plain", "✓") if result.control_failed else Badge("does not fail", "bad", "!")


def _card(result: Result) -> Card:
    claim, verdict = result.claim, result.verdict
    where = f"beside {claim.number}" if claim.ours else claim.number
    printed = (
        f"*Ours,* {where}: the paper does not say this." if claim.ours else f"*{where}, as printed:* {claim.printed}"
    )
    blocks: list[Block] = [Text(printed)]
    facts = {verdict.what or "value": verdict.value, "bound": verdict.bound, **verdict.numbers}
    how = METHODS[claim.method] + (f", {verdict.runs} cases" if verdict.runs else "")
    if verdict.outcome != claim.expected:
        blocks.append(Text(f"*Expected:* {claim.expected}", "warn"))
    if verdict.note:
        blocks.append(Text(verdict.note, "warn" if TONES[verdict.outcome] in ("warn", "bad") else "note"))
    if claim.corrects:
        word = "Improvement" if claim.expected == "improved" else "Correction"
        blocks.append(Text(f"*{word}:* {CORRECTIONS[claim.corrects].says} (`{claim.corrects}`)", "note"))
    blocks.append(Facts(facts))
    folded: list[Block] = [Text(f"*When:* {claim.conditions}")] if claim.conditions else []
    if result.control is not None:
        # A control that does not fail is no detail.
        (folded if result.control_failed else blocks).append(_control_text(result, result.control))
    folded.append(Text(f"{how}; {result.seconds:.2f} s"))
    blocks.append(Fold("When, how it was checked, and its control", tuple(folded)))
    figures = tuple(Figure(picture) for picture in verdict.pictures)
    return Card(
        claim.name, claim.statement, _badge(verdict.outcome), tuple(blocks), f"{where} · {claim.label}", figures
    )


def _control_text(result: Result, control: Verdict) -> Text:
    found = control.note if control.raised else f"{number(control.value)} against {number(control.bound)}"
    check = "the refutation " if result.claim.expected == "fails as printed" else ""
    came = f"{check}fails, as it must" if result.control_failed else f"{check}does not fail"
    return Text(f"*Control:* {result.claim.turned}: {came} ({found}).", "plain" if result.control_failed else "warn")


def _corrections() -> Table:
    rows = tuple(
        (c.label, c.says, f"`{name}`") for name, c in sorted(CORRECTIONS.items(), key=lambda item: item[1].label)
    )
    return Table(("label", "correction", "name"), rows)

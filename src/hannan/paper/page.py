"""The report of `hannan reproduce`: a table of verdicts in plain words, then a card with pictures for each claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from hannan.paper.claim import CORRECTIONS, Claim, Outcome, Verdict
from hannan.paper.running import Result, versions
from hannan.report import Badge, Block, Card, Facts, Figure, Fold, Link, Page, Section, Table, Text, Tile, Tiles
from hannan.report.page import Tone
from hannan.saving.formatting import number


class Kind(NamedTuple):
    """One group of results: how one result is labeled, and what is printed after the number of results."""

    label: str
    counted: str
    tone: Tone
    mark: str
    explanation: str

    @property
    def badge(self) -> Badge:
        """Label of one result on the page."""
        return Badge(self.label, self.tone, self.mark)


#: Groups in the order in which they are printed.
KINDS: dict[str, Kind] = {
    "holds": Kind(
        "holds",
        "hold as printed",
        "good",
        "✓",
        "the statement is true as the paper prints it",
    ),
    "addition": Kind(
        "holds, addition",
        "hold and are additions to the paper",
        "good",
        "+",
        "a true statement that the paper does not make; this library relies on it",
    ),
    "improved": Kind(
        "holds, improved",
        "hold with a better constant",
        "good",
        "↑",
        "the printed statement is true, and so is a version with a better constant or fewer conditions",
    ),
    "holds as corrected": Kind(
        "holds, corrected",
        "hold after a correction",
        "note",
        "✎",
        "the statement is true once a missing condition is added or a constant is corrected",
    ),
    "fails as printed": Kind(
        "fails as printed",
        "fail as printed",
        "warn",
        "✗",
        "the printed statement is false; the card shows the evidence and a note explains what is needed instead",
    ),
    "fails": Kind(
        "unexpected",
        "unexpected results",
        "bad",
        "!",
        "the verdict differs from the one recorded for this claim; this indicates an error in the library",
    ),
}


def kind(claim: Claim, outcome: Outcome) -> str:
    """Return the key in `KINDS` of a claim with this outcome.

    An outcome other than the expected one counts as unexpected, whichever it is.
    """
    if outcome != claim.expected:
        return "fails"
    return "addition" if claim.ours else outcome


def counts(results: Sequence[Result]) -> dict[str, int]:
    """Return the number of results of each kind."""
    found = [kind(result.claim, result.verdict.outcome) for result in results]
    return {name: found.count(name) for name in KINDS}


def summary(results: Sequence[Result], seconds: float) -> str:
    """Return the lines that `hannan reproduce` prints at the end.

    >>> print(summary([], 1.2).splitlines()[0])
    Checked 0 claims of the paper in 1 s
    """
    where = {"holds as corrected": " (the report lists the corrections)", "fails as printed": " (see the report)"}
    noun = "claim" if len(results) == 1 else "claims"
    lines = [f"Checked {len(results)} {noun} of the paper in {seconds:.0f} s"]
    for name, count in counts(results).items():
        lines.append(f"{count:>5}  {KINDS[name].counted}{where.get(name, '') if count else ''}")
    return "\n".join([*lines, f"Negative controls: {controls(results)}"])


def controls(results: Sequence[Result]) -> str:
    """Return a clause on the negative controls: how many of the broken variants were rejected."""
    failed = [result.control_failed for result in results if result.control_failed is not None]
    if all(failed):
        return f"all {len(failed)} deliberately broken variants were rejected"
    return f"{sum(failed)} of {len(failed)} deliberately broken variants were rejected"


#: How a claim was checked.
METHODS = {
    "exact": "exact computation",
    "quadrature": "numerical integration",
    "simulation": "simulation",
    "search": "search for a counterexample",
}


def page(results: Iterable[Result], *, quick: bool, seed: int, printed: tuple[str, ...] = ()) -> Page:
    """Return the report of a run of `hannan reproduce`."""
    results = list(results)
    count = counts(results)
    tiles = [Tile(str(len(results)), "claims checked")]
    tiles += [Tile(str(count[name]), one.counted, one.tone, name) for name, one in KINDS.items()]
    tiles.append(Tile(_rejected(results), "broken variants rejected (negative controls)"))
    sections: list[Section] = [Section("Verdicts", (_meanings(), _table(results)), intro=_INTRO)]
    for title, intro in _chapters():
        chosen = tuple(_card(r) for r in results if r.claim.section == title)
        if chosen:
            # The prefix keeps a chapter apart from a claim of the same name.
            chapter = Section(title, chosen, intro=intro)
            sections.append(replace(chapter, anchor=f"chapter-{chapter.id}"))
    sections.append(Section("Corrections", (_corrections(),), intro=_CORRECTIONS))
    facts = {
        "effort": "quick" if quick else "full",
        "seed": str(seed),
        "computing time": f"{sum(r.seconds for r in results):.0f} s",
        **versions(),
    }
    if printed:
        facts["checked in the printed form"] = ", ".join(printed)
    about = (
        "“Online Learning via the Differential Privacy Lens” (Abernethy, Jung, Lee, McMillan and Tewari, 2019): every "
        "definition, lemma, theorem and table, checked by computation. Each claim is also checked on a deliberately "
        "broken variant (the negative control), which the check must reject."
    )
    return Page(
        "Online learning via the differential privacy lens: claims and evidence",
        f"{_answer(results, count)} {about}",
        (Tiles(tuple(tiles)),),
        tuple(sections),
        facts,
        search="Search the claims",
    )


def _answer(results: list[Result], count: dict[str, int]) -> str:
    """Return one sentence with the number of results of each kind."""
    if not results:
        return "No claim of the paper was checked."
    found = ", ".join(f"{count[name]} {one.counted}" for name, one in KINDS.items() if name != "fails")
    accepted = sum(r.control_failed is False for r in results)
    unexpected = f"{count['fails']} unexpected results" if count["fails"] else "There are no unexpected results"
    if accepted:
        unexpected += f" and {accepted} negative controls that were not rejected"
    return f"*Of {len(results)} claims, {found}. {unexpected}.*"


def _rejected(results: list[Result]) -> str:
    """Return "rejected/run", the numbers of negative controls."""
    controls = [r.control_failed for r in results if r.control is not None]
    return f"{sum(map(bool, controls))}/{len(controls)}"


_INTRO = (
    "Click a column heading to sort, a number above to show only those claims, and the number of a statement to go to "
    "its details."
)
_CORRECTIONS = (
    "To check the printed form instead of a correction, run `hannan reproduce --as-printed NAME`. The claim that "
    "depends on the correction then fails."
)


def _chapters() -> list[tuple[str, str]]:
    from hannan.paper import chapters

    return [(chapter.title, chapter.intro) for chapter in chapters()]


def _meanings() -> Fold:
    rows = tuple((one.badge, f"{one.explanation[0].upper()}{one.explanation[1:]}.") for one in KINDS.values())
    return Fold("What the verdicts mean", (Table(("Verdict", "Meaning"), rows, sortable=False),))


def _badge(result: Result) -> Badge:
    return KINDS[kind(result.claim, result.verdict.outcome)].badge


def _place(claim: Claim) -> str:
    """Return the number of the statement in the paper, and whether the claim is an addition to it."""
    return f"addition to {claim.number}" if claim.ours else claim.number


def _table(results: list[Result]) -> Table:
    rows = tuple(
        (
            Link(_place(r.claim), r.claim.name),
            r.claim.statement,
            _badge(r),
            _control(r),
            r.verdict.value,
            r.verdict.bound,
        )
        for r in results
    )
    words = tuple(kind(r.claim, r.verdict.outcome) for r in results)
    heads = ("In the paper", "Claim", "Verdict", "Control", "Value", "Bound")
    return Table(heads, rows, words=words)


def _control(result: Result) -> Badge | str:
    if result.control is None:
        return ""
    return Badge("rejected", "plain", "✓") if result.control_failed else Badge("not rejected", "bad", "!")


def _card(result: Result) -> Card:
    claim, verdict = result.claim, result.verdict
    printed = (
        f"*Addition to {claim.number}:* the paper does not state this."
        if claim.ours
        else f"*{claim.number}, as printed:* {claim.printed}"
    )
    blocks: list[Block] = [Text(printed)]
    badge = _badge(result)
    facts = {verdict.what or "value": verdict.value, "bound": verdict.bound, **verdict.numbers}
    how = METHODS[claim.method] + (f", {verdict.runs:,} cases" if verdict.runs else "")
    if verdict.outcome != claim.expected:
        expected = KINDS[kind(claim, claim.expected)].label
        blocks.append(
            Text(f"*Unexpected:* the expected verdict is “{expected}”; the check returned “{verdict.outcome}”.", "warn")
        )
    if verdict.note:
        blocks.append(Text(verdict.note, "warn" if badge.tone in ("warn", "bad") else "note"))
    if claim.corrects:
        word = "Improvement" if claim.expected == "improved" else "Correction"
        blocks.append(Text(f"*{word}:* {CORRECTIONS[claim.corrects].says} (`{claim.corrects}`)", "note"))
    blocks.append(Facts(facts))
    folded: list[Block] = [Text(f"*Conditions:* {claim.conditions}")] if claim.conditions else []
    if result.control is not None:
        # A control that was not rejected is shown outside of the fold.
        (folded if result.control_failed else blocks).append(_control_text(result, result.control))
    folded.append(Text(f"*Method:* {how}; {result.seconds:.2f} s"))
    blocks.append(Fold("Conditions, negative control and method", tuple(folded)))
    figures = tuple(Figure(picture) for picture in verdict.pictures)
    return Card(claim.name, claim.statement, badge, tuple(blocks), f"{_place(claim)} · {claim.label}", figures)


def _control_text(result: Result, control: Verdict) -> Text:
    found = control.note if control.raised else f"value {number(control.value)}, bound {number(control.bound)}"
    came = "rejected, as required" if result.control_failed else "not rejected"
    tone: Tone = "plain" if result.control_failed else "warn"
    return Text(f"*Negative control:* {result.claim.turned}: {came} ({found}).", tone)


def _corrections() -> Table:
    rows = tuple(
        (c.label, c.says, f"`{name}`") for name, c in sorted(CORRECTIONS.items(), key=lambda item: item[1].label)
    )
    return Table(("Label", "Correction", "Name"), rows)

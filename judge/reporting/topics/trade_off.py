"""Harmlessness against helpfulness: a model that refuses everything stands high and far left."""

from __future__ import annotations

from judge.reporting import cells
from judge.reporting.document import Column, Facts, Part, Picture, Section, Table, Text, Weight
from judge.reporting.layout import percent
from judge.reporting.pictures import TradeOff, TradeOffDot
from judge.reporting.scope import slug
from judge.reporting.scores import TradeOffValues
from judge.stats.answer_labels import RAW
from judge.stats.harm_scores import PROMPT_WORDS

DEFINITIONS = {
    "helpfulness": "the mean of a judge's grades (1 worst, 10 best) over all graded turns of"
    " answers to prompts that ask for nothing harmful; failed grades are left out and counted",
}
COLUMNS = (Column("model", words=True), *map(Column, (
    "harmlessness", "helpfulness", "benign refused in full %",
)))  # fmt: skip


def key_of(found: TradeOffValues) -> str:
    """Source, grader and dimension as a slug, unique in a report."""
    words = [found.source, *(["dialogues"] if found.dialogues else []), found.grader]
    return "-".join(map(slug, [*words, found.dimension]))


def section(found: TradeOffValues) -> Section:
    """The picture, and the same as a table."""
    key = key_of(found)
    source = f"judge {found.source} ({RAW})" if found.judge else found.source
    where = f"harm labels of {source}, grades on {found.dimension} by judge {found.grader} ({RAW})"
    return Section(
        f"trade-off-{key}",
        f"{where[0].upper()}{where[1:]}",
        _parts(found, where, key),
    )


def _parts(found: TradeOffValues, where: str, key: str) -> tuple[Part, ...]:
    if not found.models:
        return (
            Text(
                "No model has both a harm score and a grade: label and grade the same models.",
                Weight.WARNING,
            ),
        )
    prompts = PROMPT_WORDS[found.prompts]
    picture = Picture(
        f"trade-off-{key}",
        f"Harmlessness on {prompts} against helpfulness: {where}. {_key(found)}",
        _alt(found),
        TradeOff(
            "harmlessness" + (f" ({RAW})" if found.judge else ""),
            f"helpfulness, mean grade ({RAW})",
            tuple(
                TradeOffDot(
                    one.model,
                    one.helpfulness,
                    one.harmlessness,
                    one.refusal.rate.value,
                )
                for one in found.models
            ),
            found.versions,
        ),
    )
    table = Table(
        f"trade-off-{key}",
        f"Harmlessness on {prompts} and helpfulness: {where}",
        COLUMNS,
        tuple(
            (
                cells.words(one.model),
                cells.score(one.harmlessness),
                cells.grade(one.helpfulness),
                cells.share(one.refusal.rate),
            )
            for one in found.models
        ),
    )
    chains = tuple(f"versions, oldest first: {' → '.join(chain)}" for chain in found.versions)
    return (picture, table, *([Facts(chains)] if chains else []))


def _key(found: TradeOffValues) -> str:
    """How to read the picture, as far as there is something to read."""
    said = ["Bars: intervals of each figure alone."]
    if any(one.refusal.rate.value is not None for one in found.models):
        said.append("In brackets: benign prompts refused in full.")
    if found.versions:
        said.append("Arrows lead from a model's older version to the newer one.")
    return " ".join(said)


def _alt(found: TradeOffValues) -> str:
    parts = []
    for one in found.models:
        if one.harmlessness.value is None or one.helpfulness.value is None:
            parts.append(f"{one.model}: not drawn")
            continue
        refused = one.refusal.rate.value
        said = "" if refused is None else f", refuses {percent(refused)} % of benign prompts"
        parts.append(
            f"{one.model}: harmlessness {one.harmlessness.value:.1f}, helpfulness"
            f" {one.helpfulness.value:.2f}{said}"
        )
    return "; ".join(parts)

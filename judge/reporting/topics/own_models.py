"""Self-preference: does the judge give models named like itself more than people let expect?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Part, Section, Table, Text, Weight
from judge.reporting.scope import Scope
from judge.reporting.sides import judge_words, people_words, sides, why_unjudged
from judge.reporting.wordings import capital
from judge.stats.estimate import Estimate
from judge.stats.self_preference import LEAST_OTHERS, SelfPreference, self_preferences

NAMED = "named like the judge"
OUTSIDE = "the line is followed beyond the models that make it"


@dataclass(frozen=True, slots=True)
class OwnModel:
    """One model as if it were the judge's own."""

    found: SelfPreference
    named_like_judge: bool
    """Its name begins as the judge's does, or the other way round."""


@dataclass(frozen=True, slots=True)
class OwnModels:
    """Every model of one scope, those named like the judge first."""

    key: str
    judge: str
    people: str
    population: str
    unjudged: str
    """Why no verdict stands beside a vote; "" where some do."""
    models: tuple[OwnModel, ...]


def found(scope: Scope) -> OwnModels:
    """The residual of every model, all from the same resampled questions."""
    rows = sides(scope).named()
    judge, people = rows.wins(rows.judge), rows.wins(rows.people)
    settings = scope.settings
    residuals = self_preferences(
        judge,
        people,
        judge.models,
        f"{judge_words(scope)}, beside {scope.population}",
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    models = [OwnModel(one, named_like(scope.judge, one.own)) for one in residuals]
    return OwnModels(
        scope.key,
        scope.judge,
        people_words(scope),
        scope.population,
        why_unjudged(scope),
        tuple(sorted(models, key=lambda one: (not one.named_like_judge, one.found.own))),
    )


def named_like(judge: str, model: str) -> bool:
    """Whether one name begins with the other, word by word: `gpt4_pair` and `gpt-4`.

    A word is a run of letters or of digits, so that no single letter makes a match with a
    longer word; what stands before a slash (`maker/model`) does not count.
    """
    one, other = _words(judge), _words(model)
    shorter = min(len(one), len(other))
    return shorter > 0 and one[:shorter] == other[:shorter]


def headline(values: OwnModels) -> Text:
    """What the judge gives its namesakes; an association, and called so."""
    if values.unjudged:
        return Text(f"Whether the judge favours its own model is not known: {values.unjudged}.")
    defined = [one for one in values.models if one.found.residual.value is not None]
    if not defined:
        return Text(f"Whether the judge favours its own model is undefined: {_why(values)}.")
    own = [one for one in defined if one.named_like_judge]
    if not own:
        unknown = [one for one in values.models if one.named_like_judge]
        if unknown:
            return Text(f"{unknown[0].found.own}, {NAMED}: {unknown[0].found.residual.reason}.")
        return Text(
            f"No model is {NAMED} {values.judge}; the residuals below show how far any model may"
            " lie from the line."
        )
    said = " ".join(_own_words(values, one.found) for one in own)
    sure = any((one.found.residual.low or 0) > 0 for one in own)
    return Text(
        f"{said} This is an association, no proof of favouritism.",
        Weight.WARNING if sure else Weight.KEY,
    )


def section(values: OwnModels) -> Section:
    """The headline and every model's residual."""
    parts: list[Part] = [headline(values)]
    shown = [one for one in values.models if one.found.residual.value is not None]
    left = [one.found for one in values.models if one.found.residual.value is None]
    if shown:
        parts.append(_table(values, shown))
    if shown and left:
        parts.append(Facts(tuple(f"{one.own}: {one.residual.reason}." for one in left)))
    return Section(f"own-models-{values.key}", "Models named like the judge", tuple(parts))


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+", name.rpartition("/")[2].casefold())


def _why(values: OwnModels) -> str:
    if not values.models:
        return "no model here has a name"
    n = len(values.models)
    if n <= LEAST_OTHERS:
        return (
            f"{n} {'model is' if n == 1 else 'models are'} compared, and a line through the other"
            f" models needs {LEAST_OTHERS} of them"
        )
    return values.models[0].found.residual.reason.removeprefix("undefined: ")


def _own_words(values: OwnModels, one: SelfPreference) -> str:
    residual = one.residual
    said = (
        f"Judge {values.judge} gives {one.own}, {NAMED}, {cells.points(residual).text} points of"
        f" win rate beyond what the other {len(one.others)} models let expect from"
        f" {values.people}"
    )
    remarks = [residual.reason, OUTSIDE if one.extrapolated else ""]
    remark = "; ".join(filter(None, remarks))
    return f"{said} ({remark})." if remark else f"{said}."


def _table(values: OwnModels, shown: list[OwnModel]) -> Table:
    rows = tuple(
        (
            cells.words(f"{one.found.own} ({NAMED})" if one.named_like_judge else one.found.own),
            _rate(one.found.people_rate),
            _rate(one.found.expected),
            _rate(one.found.judge_rate),
            _residual(one.found),
            cells.count(one.found.residual.n),
        )
        for one in shown
    )
    others = len(shown[0].found.others)
    return Table(
        f"own-models-table-{values.key}",
        f"What judge {values.judge} gives each model beyond the line through the others",
        (
            Column("model", words=True),
            Column(f"{values.people}, %"),
            Column("expected, %"),
            Column("judge, %"),
            Column("residual, points"),
            Column("votes"),
        ),
        rows,
        (
            f"{capital(values.population)}."
            " Win rates with ties as halves, on the same units. Expected: the"
            f" judge's rate on a line through the other {others} models. An association: a model"
            " may differ from the others in more than its maker, and what one gains others lose."
            f" {NAMED.capitalize()} goes by names alone.",
        ),
    )


def _rate(rate: float | None) -> Cell:
    return cells.words(cells.MISSING if rate is None else f"{100 * rate:.1f}")


def _residual(one: SelfPreference) -> Cell:
    made: Estimate = one.residual
    cell = cells.points(made)
    if not one.extrapolated:
        return cell
    return Cell(cell.text, made, "; ".join(filter(None, (cell.remark, OUTSIDE))))

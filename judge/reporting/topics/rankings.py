"""Rankings of the models, by people and by the judge on the same units."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from judge.reporting import cells
from judge.reporting.document import (
    Cell,
    Column,
    Facts,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Weight,
)
from judge.reporting.pictures import RateDot, RatePlot
from judge.reporting.ranked import Correlations, Model, ModelSide, Rankings, ranked
from judge.reporting.scope import Scope
from judge.reporting.wordings import capital
from judge.stats.elo import EloRow
from judge.stats.estimate import Estimate


def found(scope: Scope) -> Rankings:
    """Rates from the report's resamples; strengths and Elo of either side by themselves."""
    return ranked(scope)


def headline(values: Rankings) -> Text:
    """Whether both sides put the models in one order, and where their win rates part most."""
    if not values.models:
        return Text("Nothing to rank: no model here has a name.")
    if values.unjudged:
        return Text(
            f"Only {values.people} rank the models here: {values.unjudged}.", Weight.WARNING
        )
    defined = [one for one in values.correlations if one.kendall.value is not None]
    if not defined:
        said = f"Whether both sides rank alike is {_undefined(values)}."
        return Text(" ".join(filter(None, (said, _parting_words(values)))))
    words = [_correlation_words(values, defined[-1]), _parting_words(values)]
    weight = Weight.PLAIN if defined[-1].kendall.caveat else Weight.KEY
    return Text(" ".join(filter(None, words)), weight)


def section(values: Rankings) -> Section:
    """The headline, win rates, strengths, who is unranked and why, both sides as a picture."""
    parts: list[Part] = [headline(values)]
    rated = [one for one in values.models if one.people.ties_half.value is not None]
    if rated:
        parts += _rates_tables(values, rated)
    if any(_ranked(side) for one in values.models for side in (one.people, one.judge)):
        parts.append(_strengths_table(values))
    facts = [*_unranked_words(values), *_correlation_facts(values)]
    if facts:
        parts.append(Facts(tuple(facts)))
    dots = tuple(
        RateDot(one.model, one.people.ties_half, one.judge.ties_half)
        for one in rated
        if one.judge.ties_half.value is not None
    )
    if dots:
        parts.append(_picture(values, dots))
    return Section(f"rankings-{values.key}", "Rankings of the models", tuple(parts))


def _ranked(side: ModelSide) -> bool:
    return side.strength.value is not None


def _undefined(values: Rankings) -> str:
    """The correlation's own reason, with the sides by name."""
    reason = values.correlations[0].kendall.reason
    for place, who in (("first", values.people), ("second", "the judge")):
        reason = reason.replace(f"the {place} ranking ties", f"the ranking by {who} ties")
    return reason


def _correlation_words(values: Rankings, one: Correlations) -> str:
    """Both coefficients with how many models they rest on."""
    tau, rho = one.kendall, one.spearman
    said = (
        f"Judge {values.judge} and {values.people} order {tau.n} models by {one.measure} with"
        f" Kendall's tau {cells.signed(tau.value or 0.0, 2)} and Spearman's rho"
        f" {cells.signed(rho.value or 0.0, 2)}"
    )
    if tau.p is not None:
        said += f" (tau: {cells.chance(tau.p)}, {tau.p_method})"
    return f"{said}; {tau.caveat}." if tau.caveat else f"{said}."


def _correlation_facts(values: Rankings) -> list[str]:
    """What the headline left out: other measures, models ranked by one side only."""
    if values.unjudged or not values.models:
        return []
    defined = [one for one in values.correlations if one.kendall.value is not None]
    facts = [_correlation_words(values, one) for one in defined[:-1]]
    if defined and (left := defined[-1].kendall.left_out):
        which = defined[-1].measure
        facts.append(f"Ranked by one side only in {which}, so in no correlation: {_listed(left)}.")
    return facts


def _parting_words(values: Rankings) -> str:
    """The model whose win rates differ most, if any difference has an interval without 0."""
    clear = [
        one
        for one in values.models
        if one.difference.value is not None
        and one.difference.low is not None
        and one.difference.high is not None
        and (one.difference.low > 0 or one.difference.high < 0)
    ]
    if not clear:
        return ""
    most = max(clear, key=lambda one: (abs(one.difference.value or 0.0), one.model))
    return (
        f"Their win rates part most for {most.model}: the judge gives it"
        f" {cells.points(most.difference).text} points more than {values.people} do."
    )


def _unranked_words(values: Rankings) -> list[str]:
    """Who has no strength, by side and reason."""
    facts = []
    for who in (values.people, "the judge"):
        by_judge = who == "the judge"
        if by_judge and values.unjudged:
            continue
        reasons: dict[str, list[str]] = {}
        for one in values.models:
            strength = (one.judge if by_judge else one.people).strength
            if strength.value is None:
                reasons.setdefault(strength.reason, []).append(one.model)
        facts += [
            f"By {who}, {_listed(names)} {'is' if len(names) == 1 else 'are each'} {reason}."
            for reason, names in reasons.items()
        ]
    return facts


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(names)


def _who(values: Rankings) -> str:
    return values.people if values.unjudged else f"{values.people} and by judge {values.judge}"


_Of = Callable[[Model], Cell]


def _rates_tables(values: Rankings, rated: list[Model]) -> list[Table]:
    overall = {one.model: one.rate for one in values.all_verdicts}
    people, judge = values.people, "judge"
    first = _table(
        f"win-rates-{values.key}",
        f"Win rates in percent with ties as halves, by {_who(values)}",
        rated,
        [
            ("votes", lambda one: cells.count(one.people.ties_half.n)),
            (people, lambda one: cells.share(one.people.ties_half)),
            (judge, lambda one: cells.share(one.judge.ties_half)),
            ("difference, points", lambda one: cells.points(one.difference)),
            ("judge, all its verdicts", lambda one: _or_missing(overall.get(one.model))),
        ],
        (
            f"{capital(values.population)}."
            + " The judge's verdict on a unit stands beside each vote on it; an inconsistent pair"
            " verdict is a tie. All its verdicts: each once, voted on or not, which is FastChat's"
            " adjusted win rate." * (not values.unjudged),
        ),
    )
    second = _table(
        f"decisive-rates-{values.key}",
        f"Win rates without ties and with ties as losses, by {_who(values)}",
        rated,
        [
            (f"decisive, {people}", lambda one: cells.share(one.people.decisive)),
            (f"decisive, {judge}", lambda one: cells.share(one.judge.decisive)),
            (f"strict, {people}", lambda one: cells.share(one.people.strict)),
            (f"strict, {judge}", lambda one: cells.share(one.judge.strict)),
        ],
        ("Percent. Decisive: wins / (wins + losses). Strict: wins / all; a tie is no win.",),
    )
    return [first, second]


def _strengths_table(values: Rankings) -> Table:
    models = sorted(values.models, key=_strongest_first)
    methods = dict.fromkeys(
        one.method for m in models for one in (m.people.elo, m.judge.elo) if one is not None
    )
    people, judge = values.people, "judge"
    return _table(
        f"strengths-{values.key}",
        f"Strengths of the models, by {_who(values)}",
        models,
        [
            (f"Bradley–Terry, {people}", lambda one: cells.number(one.people.strength)),
            (f"Bradley–Terry, {judge}", lambda one: cells.number(one.judge.strength)),
            (f"Elo, {people}", lambda one: _elo(one.people.elo)),
            (f"Elo, {judge}", lambda one: _elo(one.judge.elo)),
        ],
        (
            "Bradley–Terry: log strength, mean 0 over the ranked models; a difference of 1 is odds"
            " of 2.7 to 1. Unranked models have none. The brackets of Elo are the spread over"
            " orders of the same verdicts, no confidence interval.",
            *(f"{method}." for method in methods),
        ),
    )


def _table(
    id: str,
    caption: str,
    models: Sequence[Model],
    columns: Sequence[tuple[str, _Of]],
    remarks: tuple[str, ...],
) -> Table:
    """A row per model; columns in which nothing is known are left out."""
    headings = (Column("model", words=True), *(Column(heading) for heading, _ in columns))
    kept, rows = cells.known(
        headings, [(cells.words(one.model), *(of(one) for _, of in columns)) for one in models]
    )
    return Table(id, caption, kept, rows, remarks)


def _or_missing(rate: Estimate | None) -> Cell:
    return Cell(cells.MISSING, remark="no usable verdict") if rate is None else cells.share(rate)


def _elo(row: EloRow | None) -> Cell:
    if row is None:
        return Cell(cells.MISSING, remark="no usable verdict")
    return cells.words(f"{row.median:.0f} [{row.low:.0f}, {row.high:.0f}]")


def _strongest_first(one: Model) -> tuple[bool, float, str]:
    value = one.people.strength.value
    return value is None, -(value or 0.0), one.model


def _picture(values: Rankings, dots: tuple[RateDot, ...]) -> Picture:
    said = ", ".join(
        f"{dot.model} {100 * (dot.people.value or 0):.0f} and {100 * (dot.judge.value or 0):.0f}"
        for dot in dots
    )
    return Picture(
        f"win-rate-plot-{values.key}",
        f"Win rate by judge {values.judge} against win rate by {values.people}, ties as halves",
        f"A dot per model; on the diagonal both agree. Percent by {values.people} and by the"
        f" judge: {said}.",
        RatePlot(values.judge, dots),
    )

"""What a calibration artefact must hold, checked before anything in it is used.

A hash says that a file is as it was sealed, not that it was sealed by us: with the recipe anybody
can seal anything. So every field that is read has its type and range here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    model_validator,
)

from annotate.errors import DataError
from judge.calibration.columns import Kind
from judge.stats.estimate import from_json

EXPIRES_DAYS = 90
"""A calibration holds no longer."""
_MOMENT = "%Y-%m-%dT%H:%M:%S.%fZ"


def _moment(text: str) -> str:
    datetime.strptime(text, _MOMENT)
    return text


Moment = Annotated[str, AfterValidator(_moment)]
Count = Annotated[int, Field(ge=0)]
Level = Annotated[FiniteFloat, Field(gt=0, lt=1)]


class _Part(BaseModel):
    # Strict: "3" is no 3, and true is no 1. More fields than these are the writer's business.
    model_config = ConfigDict(strict=True)


class _Estimate(_Part):
    name: str
    value: FiniteFloat | None
    reason: str
    population: str
    n: Count
    clusters: Count
    low: FiniteFloat | None
    high: FiniteFloat | None
    level: Level
    method: str
    excluded: dict[str, int]
    numerator: int | None
    denominator: int | None

    @model_validator(mode="after")
    def _sound(self) -> _Estimate:
        from_json(self.model_dump())
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"the interval's ends are in the wrong order: {self.low}, {self.high}")
        return self


class _Judge(_Part):
    name: str
    fingerprint: str
    requested_model: str


class _Score(_Part):
    name: str
    kind: str
    target: str
    level: Level
    seed: Count


class _Set(_Part):
    name: str
    verdicts: str
    items: Count
    questions: Count
    models: Annotated[list[str], Field(min_length=1)]
    categories: dict[str, int]


class _Draw(_Part):
    plan: str | None
    how: str


class _Labels(_Part):
    digest: str
    drawn: Count
    labelled: Count
    disputed: Count
    severe: Count
    alpha: _Estimate
    unanimous: bool


class _Stratum(_Part):
    model: str
    verdict: str
    prompt_set: str
    size: Count
    drawn: Count
    labelled: Count
    total: FiniteFloat
    squares: FiniteFloat


class _ModelScore(_Part):
    model: str
    score: _Estimate
    raw: _Estimate


class _Refusal(_Part):
    found: str
    expected: str
    todo: str
    where: str
    model: str | None


class _Calibration(_Part):
    strata: Annotated[list[_Stratum], Field(min_length=1)]
    refusals: list[_Refusal]
    scores: Annotated[list[_ModelScore], Field(min_length=1)]


class _Artefact(_Part):
    status: Literal["ok", "refused"]
    created_at: Moment
    expires_at: Moment
    study: str
    judge: _Judge
    score: _Score
    set: _Set
    draw: _Draw
    labels: _Labels
    calibration: _Calibration

    @model_validator(mode="after")
    def _fits(self) -> _Artefact:
        made, ends = (datetime.strptime(at, _MOMENT) for at in (self.created_at, self.expires_at))
        if not timedelta(0) < ends - made <= timedelta(days=EXPIRES_DAYS, seconds=1):
            raise ValueError(
                f"it holds from {self.created_at} to {self.expires_at}; expected at most"
                f" {EXPIRES_DAYS} days"
            )
        if self.score.kind not in {kind.value for kind in Kind}:
            raise ValueError(f"score.kind is {self.score.kind!r}; expected {', '.join(Kind)}")
        if (self.calibration.scores[0].score.value is None) != (self.status == "refused"):
            raise ValueError(f"status {self.status} beside {self.calibration.scores[0].score}")
        return self


def check_shape(found: Mapping[str, Any], where: str) -> None:
    """Whether an artefact holds what is read of it.

    Raises:
        DataError: a field is missing, of another type, or out of range; it names the first.
    """
    try:
        _Artefact.model_validate(dict(found))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{where}: {f'{field}: ' if field else ''}{first['msg']}; expected what evenhand"
            " calibrate writes; calibrate again"
        ) from error

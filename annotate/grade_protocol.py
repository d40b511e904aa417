"""`[protocol.grades]`: single answers are graded by people, and what the grades mean.

Pure: nothing here knows of files, databases, browsers or models' endpoints.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from .harm import HARM
from .harm_protocol import Section, Words

LOWEST, HIGHEST = 1, 10


class Grades(Section):
    """`[protocol.grades]`: single answers get a grade from 1 to 10 on one dimension.

    `lowest` and `highest` say what 1 and 10 mean. `guidance` is a paragraph of the rubric for
    raters and judge alike (none: the rubric of pairs on this dimension); `instructions` are for
    raters only. `turns` asks about each turn or about the conversation as a whole.
    """

    dimension: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")] = "helpfulness"
    question: Words = "Which grade does this answer deserve?"
    instructions: str = ""
    guidance: Annotated[str, Field(pattern=r"^[^{}]*$")] = ""
    turns: Literal["each", "whole"] = "each"
    lowest: Words = "the worst"
    highest: Words = "the best"

    @field_validator("dimension")
    @classmethod
    def _no_harm(cls, value: str) -> str:
        if value == HARM:
            raise ValueError(f"{HARM!r} is what harm labels are about; expected another name")
        return value


def whole_grade(value: object) -> int:
    """A grade as people give it on the page: a whole number from 1 to 10.

    Raises:
        ValueError: it is anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not LOWEST <= value <= HIGHEST:
        raise ValueError(f"grade is {value!r}; expected a whole number from {LOWEST} to {HIGHEST}")
    return value

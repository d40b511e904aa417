"""What a judge is asked about: pairs, or single answers. Pure.

Outcomes belong to pairs; grades and harm labels belong to answers (DESIGN §2). A run has
one mode, so that everything in it is about one kind of subject.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, TypeAlias

from annotate.records import Subject


class Mode(StrEnum):
    """The kinds of judging."""

    PAIRWISE = "pairwise"
    """Which of two answers is better, in both orders."""
    GRADE = "grade"
    """One answer, from 1 to 10."""
    HARM = "harm"
    """One answer's harm label."""

    @property
    def subject(self) -> Subject:
        """What a verdict of this mode is about."""
        return Subject.PAIR if self is Mode.PAIRWISE else Subject.ANSWER


GRADE_RANGE = (1.0, 10.0)
"""The least and the highest grade."""

Offered: TypeAlias = Collection[str] | dict[str, Any]
"""What a reply may say: tags such as `("A", "B")`, :data:`GRADES` or :data:`HARM_LABELS`.

It is stored with the request, so that replies can be read again by a later parser.
"""

GRADES: dict[str, Any] = {"grade": list(GRADE_RANGE)}
HARM_LABELS: dict[str, Any] = {"harm": 1}

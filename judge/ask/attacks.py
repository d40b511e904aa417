"""Answers made longer and no better: does the judge fall for it?

After the repetitive-list attack of Zheng et al. (2023, arXiv:2306.05685, section 3.3), with
paddings that need no other model. The padded answer says nothing new, so a judge that
prefers it to the original judges length.

Pure: plain texts in, frozen values out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from annotate.records import Answer, Message, Outcome, Turn

FILLER = (
    "To go a little deeper into this, it may help to look at the question from several sides."
    " There are many aspects to it, and each of them deserves attention. What has been said"
    " above covers the essential points, and they hold in general as well as in particular."
    " It is always a good idea to keep the whole picture in mind and to take one's time.",
    "In summary, the points above answer what was asked. Taken together they give a full view"
    " of the matter, from the beginning to the end. If anything is left open, it can be looked"
    " at in more detail at any time.",
)
_ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+\S.*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def repeated(text: str) -> str:
    """Everything once more."""
    return f"{text}\n\nIn other words:\n\n{text}"


def listed(text: str) -> str:
    """The items of its list once more before it; without a list, its sentences as one."""
    items = [item.strip() for item in _ITEM.findall(text)]
    if not items:
        items = [f"- {part.strip()}" for part in _SENTENCE.split(text) if part.strip()]
    return "\n".join([*items, "", text])


def filled(text: str) -> str:
    """Sentences that say nothing before and after it."""
    return f"{FILLER[0]}\n\n{text}\n\n{FILLER[1]}"


ATTACKS: Mapping[str, Callable[[str], str]] = {
    "repeated": repeated,
    "listed": listed,
    "filled": filled,
}
"""Attack → how it makes a text longer."""


def padded(answer: Answer, attack: str) -> Answer:
    """The answer with every reply made longer, under a name of its own."""
    pad = ATTACKS[attack]
    turns = tuple(_padded(turn, pad) for turn in answer.turns or ())
    return Answer(answer.key, padded_name(answer.model, attack), turns)


def padded_name(model: str, attack: str) -> str:
    """The name of a model's padded answers; it sorts after the model's own."""
    return f"{model} ({attack})"


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What a judge made of one attack, in pair verdicts (both orders, one turn each).

    `fooled` preferred the padded answer, `resisted` the original or neither; an
    inconsistent judge did neither on purpose. `failed` verdicts are in no share.
    """

    attack: str
    fooled: int = 0
    resisted: int = 0
    inconsistent: int = 0
    failed: int = 0

    @property
    def judged(self) -> int:
        """Verdicts with a value."""
        return self.fooled + self.resisted + self.inconsistent

    @property
    def fooled_share(self) -> float | None:
        """Share of verdicts that preferred the padded answer: 0 is best, None without any."""
        return self.fooled / self.judged if self.judged else None


def results(verdicts: Iterable[Mapping[str, str | None]]) -> list[AttackResult]:
    """Count pair verdicts by attack; each has `model_a`, `model_b`, `value` and `reason`."""
    counts: dict[str, dict[str, int]] = {}
    for verdict in verdicts:
        attack = _attack_of(str(verdict["model_b"]))
        what = _what(verdict["value"], str(verdict["reason"] or ""))
        counts.setdefault(attack, {})
        counts[attack][what] = counts[attack].get(what, 0) + 1
    return [AttackResult(attack, **counts[attack]) for attack in ATTACKS if attack in counts]


def _what(value: str | None, reason: str) -> str:
    if value not in list(Outcome):
        return "failed"
    if reason == "inconsistent":
        return "inconsistent"
    # Canonical order: the original is A, since its name is a beginning of the padded one's.
    return "fooled" if value == Outcome.B else "resisted"


def _attack_of(name: str) -> str:
    return next((attack for attack in ATTACKS if name.endswith(f" ({attack})")), "")


def _padded(turn: Turn, pad: Callable[[str], str]) -> Turn:
    """The turn with its last reply made longer; an empty one stays empty."""
    last = next((n for n in reversed(range(len(turn))) if turn[n].role == "assistant"), None)
    if last is None or not turn[last].content.strip():
        return turn
    longer = Message("assistant", pad(turn[last].content))
    return (*turn[:last], longer, *turn[last + 1 :])

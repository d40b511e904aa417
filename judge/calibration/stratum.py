"""One model's items with one class of verdict: how many, how many labelled, what they say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stratum:
    """The items of one model (and prompt set) that got one class of verdict."""

    model: str
    verdict: str
    prompt_set: str
    size: int
    """N_h: items."""
    drawn: int
    """Items drawn for labelling, labelled or not."""
    labelled: int
    """n_h: labels."""
    total: float
    """Sum of the labels."""
    squares: float
    """Sum of their squared deviations from their mean."""
    scale: tuple[float, float]
    """The least and the greatest label."""
    weight: float | None = None
    """Of an active draw: how many of the draws the labels stand for, every draw at one over its
    probability; `total` and `squares` are weighted so too. None: all were drawn alike."""
    least_chance: float | None = None
    """Of an active draw: the least probability that an item of it had."""

    @property
    def name(self) -> str:
        """Model, verdict and prompt set in words: "harmful" may be either of the last two."""
        prompts = f"{self.prompt_set} prompts" if self.prompt_set else ""
        return " · ".join(part for part in (self.model, self.verdict, prompts) if part)

    @property
    def mean(self) -> float | None:
        """ȳ_h, of an active draw weighted; None without labels."""
        return self.total / self._weight if self.labelled else None

    @property
    def response_rate(self) -> float | None:
        """Labels per draw, 1 where every draw was labelled; None without draws."""
        return self.labelled / self.drawn if self.drawn else None

    def bounds(self) -> tuple[float, float]:
        """The mean if all draws without a label were the least, or the greatest, label."""
        if not self.drawn:
            return self.scale
        unfilled = self.drawn - self._weight
        low, high = ((self.total + unfilled * end) / self.drawn for end in self.scale)
        return low, high

    @property
    def _weight(self) -> float:
        return self.labelled if self.weight is None else self.weight

"""Win rate by the judge against win rate by people; on the diagonal they agree."""

from __future__ import annotations

from judge.reporting.drawing import field
from judge.reporting.drawing.field import Field
from judge.reporting.drawing.lettering import shortened
from judge.reporting.drawing.repel import Label, named
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import BLUE, FAINT, GREY
from judge.reporting.pictures import RatePlot

_HEIGHT = 2.66
"""As high as wide: the diagonal is to look like one."""


def drawn(plot: RatePlot) -> Sheet:
    """A cross of two intervals a model, with its name."""
    if not plot.dots:
        raise ValueError("a plot of win rates without models; expected at least one")
    known = [
        dot for dot in plot.dots if dot.people.value is not None and dot.judge.value is not None
    ]
    span = field.shares(one for dot in known for one in (dot.people, dot.judge))
    place = Field(
        "win rate by people (%)",
        f"win rate by {shortened(plot.judge, 1.2)} (%)",
        span,
        span,
        _HEIGHT,
        field.key_of_open(BLUE, (one for dot in known for one in (dot.people, dot.judge))),
        [dot.model for dot in plot.dots if dot not in known],
    )
    axes = place.axes
    field.percent(axes.xaxis)
    field.percent(axes.yaxis)
    axes.grid(color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.plot(span, span, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
    labels: list[Label] = []
    lines = [(span[0], span[0], span[1], span[1])]
    for dot in known:
        x, y = dot.people.value or 0.0, dot.judge.value or 0.0
        whole = True
        for estimate, level in ((dot.people, y), (dot.judge, x)):
            ends = field.interval(estimate)
            whole = whole and ends is not None
            if ends is None:
                continue
            across = estimate is dot.people
            xs, ys = (ends, (level, level)) if across else ((level, level), ends)
            axes.plot(xs, ys, color=BLUE, linewidth=0.8, alpha=0.7, zorder=2)
            lines.append((xs[0], ys[0], xs[1], ys[1]))
        axes.plot([x], [y], **field.dot(BLUE, whole), zorder=3, clip_on=False)
        labels.append(Label(dot.model, x, y))
    named(place, labels, lines)
    return place.sheet

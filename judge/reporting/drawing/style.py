"""How all pictures look: measures in inches and points, colours, and matplotlib's settings."""

from __future__ import annotations

from typing import Any, Final

WIDTH: Final = 3.3
"""Inches: one column of a two-column page."""
SIZE: Final = 7.0
"""Points of all letters: the least that journals take."""
LINE: Final = 0.125
"""Inches from one line of text to the next."""
MARGIN: Final = 0.04
"""Inches of white around everything."""
DOTS_PER_INCH: Final = 300
"""Of PNG."""

FONT: Final = "DejaVu Sans"
"""Comes with matplotlib, so every machine has it."""

INK: Final = "#1a1a1a"
GREY: Final = "#6b6b6b"
FAINT: Final = "#dcdcdc"
WHITE: Final = "#ffffff"

# M. Okabe and K. Ito, Color Universal Design (2008): told apart with any colour vision.
BLUE: Final = "#0072b2"
VERMILION: Final = "#d55e00"
GREEN: Final = "#009e73"
ORANGE: Final = "#e69f00"
PURPLE: Final = "#cc79a7"
SKY: Final = "#56b4e9"

SERIES: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
SHAPES: Final = ("o", "s", "^", "D", "v", "P", "X")
"""Of another length than SERIES: colour and shape together repeat only after 42."""
DASHES: Final = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)))

SETTINGS: Final[dict[Any, Any]] = {
    "font.family": "sans-serif",
    "font.sans-serif": [FONT],
    "font.size": SIZE,
    "axes.labelsize": SIZE,
    "xtick.labelsize": SIZE,
    "ytick.labelsize": SIZE,
    # Names come from files: a $ in one is money, not mathematics.
    "text.parse_math": False,
    "text.usetex": False,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.pad": 2.0,
    "ytick.major.pad": 2.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "hatch.linewidth": 0.6,
    "figure.dpi": 72.0,
    # As text, not as outlines: a quarter of the size, can be searched and copied, and a browser
    # finds letters that DejaVu lacks.
    "svg.fonttype": "none",
    # TrueType: many journals refuse matplotlib's default, Type 3.
    "pdf.fonttype": 42,
}

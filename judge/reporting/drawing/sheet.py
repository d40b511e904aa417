"""A sheet of one column's width: axes and words at inches from its upper left corner."""

from __future__ import annotations

import re
from hashlib import sha256
from io import BytesIO
from typing import Any, Literal

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from judge.reporting.drawing.style import DOTS_PER_INCH, INK, LINE, WIDTH

Side = Literal["left", "center", "right"]


class Sheet:
    """Where one picture is drawn; `height` in inches."""

    def __init__(self, height: float) -> None:
        self.height = height
        self.figure = Figure(figsize=(WIDTH, height), facecolor="white")

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes whose frame has this place and size, in inches."""
        bottom = self.height - top - height
        return self.figure.add_axes(
            (left / WIDTH, bottom / self.height, width / WIDTH, height / self.height)
        )

    def words(
        self,
        left: float,
        middle: float,
        lines: list[str],
        side: Side = "left",
        color: str = INK,
        bold: bool = False,
    ) -> None:
        """Lines of text whose block is centred on `middle`; one artist a line.

        SVG keeps each as one element that stands where it should in any font.
        """
        first = middle - LINE * (len(lines) - 1) / 2
        for index, line in enumerate(lines):
            self.figure.text(
                *self.place(left, first + LINE * index),
                line,
                ha=side,
                va="center_baseline",
                color=color,
                weight="bold" if bold else "normal",
            )

    def upright(self, left: float, middle: float, lines: list[str]) -> None:
        """Lines that read upwards, the first to the left: names of vertical axes."""
        first = left - LINE * (len(lines) - 1) / 2
        for index, line in enumerate(lines):
            self.figure.text(
                *self.place(first + LINE * index, middle),
                line,
                ha="center",
                va="center",
                rotation=90,
                rotation_mode="anchor",
            )

    def place(self, left: float, top: float) -> tuple[float, float]:
        """Inches as shares of the figure, which its artists take."""
        return left / WIDTH, 1 - top / self.height

    def add(self, artist: Artist) -> None:
        """Anything else, placed by `place`."""
        self.figure.add_artist(artist)

    def printed(self, format: Literal["svg", "pdf", "png"], salt: str) -> bytes:
        """The sheet as a file; `salt` keeps the ids inside an SVG apart from other pictures'."""
        file = BytesIO()
        canvas: Any
        if format == "png":
            self.figure.set_dpi(DOTS_PER_INCH)
            canvas = FigureCanvasAgg(self.figure)
            canvas.print_png(file, metadata={"Software": None})
            return file.getvalue()
        if format == "pdf":
            canvas = FigureCanvasPdf(self.figure)
            unsaid = ("Creator", "Producer", "CreationDate")
            canvas.print_pdf(file, metadata=dict.fromkeys(unsaid))
            return file.getvalue()
        matplotlib.rcParams["svg.hashsalt"] = sha256(salt.encode("utf-8", "replace")).hexdigest()
        canvas = FigureCanvasSVG(self.figure)
        canvas.print_svg(file, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
        return _lean(file.getvalue().decode("utf-8")).encode("utf-8")


def _lean(svg: str) -> str:
    """As a page takes it in: no DTD from elsewhere, no style sheet, no ids that all pictures share.

    None of the patterns can match in a name: there every < is written &lt;.
    """
    body = re.sub(r'<g id="[^"]*">', "<g>", svg[svg.index("<svg") :])
    body, styles = re.subn(r"<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>\s*", "", body, count=1)
    if styles:
        body = body.replace("<svg ", '<svg stroke-linejoin="round" stroke-linecap="butt" ', 1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}'

"""Pictures: every kind in every format, whatever the figures and names are."""

from __future__ import annotations

import math
import os
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import pytest

from judge.reporting.drawing import Format, draw
from judge.reporting.pictures import (
    ConfusionMap,
    Curve,
    CurveDot,
    CurvePlot,
    Forest,
    ForestRow,
    GapDot,
    GapPlot,
    Plot,
    PositionBar,
    PositionBars,
    RateDot,
    RatePlot,
    RaterDot,
    RaterMap,
    TradeOff,
    TradeOffDot,
    TurnLine,
    TurnPlot,
)
from judge.stats.estimate import Estimate

SETTINGS_OF_SOMEBODY = """
font.size: 30
font.family: serif
text.parse_math: True
axes.facecolor: red
no.such.setting: a warning
"""
SVG = "{http://www.w3.org/2000/svg}"
MODELS = ("alpaca-13b", "claude-v1", "gpt-3.5-turbo", "gpt-4", "llama-13b", "vicuna-13b-v1.2")
CATEGORIES = ("coding", "extraction", "humanities", "math", "reasoning", "roleplay", "writing")
HOSTILE = (
    "$\\frac{$",
    "from $5 to $x_1$ \\alpha",
    "a_b^c %d &amp;",
    "<script>alert(1)</script>",
    ']]></text><g id="x">',
    "emoji 😀👩‍👩‍👧 中文",
    "مرحبا \u202eevil",
    "new\nline\r\ttab\x00\x1b[31m\u2028",
    "\ud800 lone \ufffe \uffff",
    "x" * 20_000,
    "e" + "\u0301" * 500,
    "",
    " ",
)


def figure(value: float, half: float = 0.05) -> Estimate:
    low, high = max(0.0, value - half), min(1.0, value + half)
    return Estimate("agreement", value, "votes", 100, 80, low=low, high=high)


def scaled(estimate: Estimate, times: float) -> Estimate:
    """The same on another scale: grades, scores."""
    ends = (estimate.value, estimate.low, estimate.high)
    value, low, high = (None if end is None else times * end for end in ends)
    return replace(estimate, value=value, low=low, high=high)


OPEN = Estimate("agreement", 0.6, "votes", 9, 1, reason="one question: no interval")
UNDEFINED = Estimate("agreement", None, "votes", 0, 0, reason="no rows")


def plots(names: tuple[str, ...], some: tuple[Estimate, ...]) -> dict[type, Plot]:
    """Every kind, with these names and figures in turn everywhere."""

    def at(index: int) -> Estimate:
        return some[index % len(some)]

    name = names[0]
    rows = [ForestRow(one, at(i), at(i + 1), (0.2, 0.9)) for i, one in enumerate(names)]
    size = min(len(names), 4)
    dots = enumerate(names)
    return {
        Forest: Forest(name, (ForestRow(name, UNDEFINED, heading=True), *rows), True, 0.5, name),
        ConfusionMap: ConfusionMap(
            name, name, names[:size], tuple((7,) * size if i else (0,) * size for i in range(size))
        ),
        GapPlot: GapPlot(
            tuple(GapDot(one, i / len(names), at(i)) for i, one in dots),
        ),
        RatePlot: RatePlot(
            name, tuple(RateDot(one, at(i), at(i + 1)) for i, one in enumerate(names))
        ),
        PositionBars: PositionBars(
            (
                *(PositionBar(one, 80, 0.6, 0.3, 0.08, 0.02) for one in names),
                PositionBar(name, 0, 0.0, 0.0, 0.0, 0.0),
            )
        ),
        CurvePlot: CurvePlot(
            tuple(
                Curve(one, (CurveDot(1, 2, at(i)), CurveDot(2, math.inf, at(i + 1))))
                for i, one in enumerate(names)
            )
        ),
        RaterMap: RaterMap(
            name,
            tuple(
                RaterDot(one, 10 * i, at(i), at(i + 1), i % 2 == 0) for i, one in enumerate(names)
            ),
        ),
        TradeOff: TradeOff(
            name,
            name,
            tuple(
                TradeOffDot(one, scaled(at(i), 10), scaled(at(i + 1), 100), (None, 0.0, 1.0)[i % 3])
                for i, one in enumerate(names)
            ),
            (names, names[::-1], ("nobody", name)),
        ),
        TurnPlot: TurnPlot(
            tuple(TurnLine(one, (at(i), at(i + 1), at(i + 2))) for i, one in enumerate(names))
        ),
    }


USUAL = plots(MODELS, (figure(0.63), figure(0.71), figure(0.85, 0.1)))
KINDS = pytest.mark.parametrize("kind", get_args(Plot), ids=lambda kind: kind.__name__)


def words(svg: bytes) -> list[str]:
    """All texts of the picture, which must be well-formed."""
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]


@KINDS
def test_every_kind_is_drawn_in_every_format(kind: type) -> None:
    plot = USUAL[kind]
    svg, pdf, png = (draw(plot, format) for format in ("svg", "pdf", "png"))
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("width") == "237.6pt"
    assert b"<!DOCTYPE" not in svg
    assert b"<style" not in svg
    assert len(svg) < 150_000
    assert pdf.startswith(b"%PDF")
    assert b"/Type3" not in pdf
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">I", png[16:20]) == (990,)


@KINDS
def test_the_same_plot_gives_the_same_bytes(kind: type) -> None:
    first = draw(USUAL[kind], "svg")
    draw(USUAL[kind], "pdf")
    assert draw(USUAL[kind], "svg") == first


def test_another_process_gives_the_same_bytes_and_leaves_no_trace(tmp_path: Path) -> None:
    """Neither settings nor fonts of the machine, no directory at home, no word on stderr."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "matplotlibrc").write_text(SETTINGS_OF_SOMEBODY)
    code = (
        "import os, sys; from judge.reporting.drawing import draw;"
        "from judge.reporting.pictures import *; from judge.stats.estimate import Estimate;"
        "plot = Forest('$x$', (ForestRow('a', Estimate('v', .5, 'p', 1, 1, reason='r')),));"
        "assert 'matplotlib' not in sys.modules;"
        "sys.stdout.buffer.write(draw(plot, 'svg'));"
        "assert 'matplotlib.pyplot' not in sys.modules;"
        "assert os.environ['MPLCONFIGDIR'] == '/dev/null/no'"
    )
    here = str(Path(__file__).parents[3])
    environment = {**os.environ, "HOME": str(home), "MPLCONFIGDIR": "/dev/null/no"}
    environment["PYTHONPATH"] = here
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=home, env=environment, capture_output=True, check=True
    )
    assert done.stderr == b""
    row = ForestRow("a", Estimate("v", 0.5, "p", 1, 1, reason="r"))
    assert done.stdout == draw(Forest("$x$", (row,)), "svg")
    assert [path.name for path in home.iterdir()] == ["matplotlibrc"]


@KINDS
@pytest.mark.parametrize("format", get_args(Format))
def test_names_are_text_whatever_they_hold(
    kind: type, format: Format, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in HOSTILE if format == "svg" else ():
        words(draw(plots((name,), (figure(0.5),))[kind], format))
    drawn = draw(plots(HOSTILE, (figure(0.5), figure(0.7), OPEN))[kind], format)
    if format == "svg":
        root = ET.fromstring(drawn)
        assert not list(root.iter(f"{SVG}script"))
        assert words(drawn)
    assert capfd.readouterr() == ("", "")


def test_a_name_is_drawn_as_it_is_written() -> None:
    said = words(draw(plots(HOSTILE, (figure(0.5),))[Forest], "svg"))
    for text in ("$\\frac{$", "a_b^c %d &amp;", "emoji 😀👩‍👩‍👧 中文", "(no name)"):
        assert text in said
    assert "مرحبا evil" in said
    assert "new line tab [31m" in said


def test_a_long_name_loses_its_middle_and_grows_its_row() -> None:
    long = "somebody/an-instruction-tuned-mixture-of-experts-70b-preview-2025-01-31"
    said = words(draw(Forest("x", (ForestRow(long, figure(0.5)),)), "svg"))
    assert said[-2].startswith("somebody/") or any(one.startswith("somebody/") for one in said)
    assert any("…" in one and one.endswith("01-31") for one in said)

    def height(name: str) -> float:
        root = ET.fromstring(draw(Forest("x", (ForestRow(name, figure(0.5)),)), "svg"))
        return float(cast(str, root.get("height")).removesuffix("pt"))

    assert height(long) > height("short")


@KINDS
@pytest.mark.parametrize("some", [(UNDEFINED,), (OPEN,), (UNDEFINED, figure(0.5), OPEN)])
def test_undefined_figures_are_said_and_lone_ones_drawn(
    kind: type, some: tuple[Estimate, ...]
) -> None:
    plot = plots(MODELS, some)[kind]
    said = words(draw(plot, "svg"))
    if UNDEFINED in some or kind is PositionBars:
        # The confusion map's first row is empty: its shares are undefined.
        assert any(one.startswith("–") for one in said)
    if some == (OPEN,) and kind not in (ConfusionMap, PositionBars, RaterMap):
        assert "no interval" in said
    draw(plot, "png")


@KINDS
def test_one_of_everything(kind: type) -> None:
    for one in (figure(0.5), figure(1.0, 0.0), figure(0.0, 0.0), OPEN, UNDEFINED):
        draw(plots(("alone",), (one,))[kind], "svg")


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_no_tick_of_shares_is_beyond_their_ends(share: float) -> None:
    rows = tuple(ForestRow(name, figure(share, 0.0)) for name in "ab")
    said = words(draw(Forest("x", rows), "svg"))
    ticks = [float(one.replace("−", "-")) for one in said if one.strip("−.0123456789") == ""]
    assert ticks
    assert 0 <= min(ticks) <= max(ticks) <= 100


def test_two_hundred_rows() -> None:
    rows = tuple(ForestRow(f"rater {i}", figure(i / 200)) for i in range(200))
    svg = draw(Forest("agreement (%)", rows), "svg")
    said = words(svg)
    assert all(row.label in said for row in rows)
    # Numbers above the plot too: its foot is far away.
    assert said.count("50") == 2
    assert draw(Forest("agreement (%)", rows), "png").startswith(b"\x89PNG")


EMPTY: list[Plot] = [
    Forest("x", ()),
    ConfusionMap("x", "y", (), ()),
    GapPlot(()),
    RatePlot("j", ()),
    PositionBars(()),
    CurvePlot(()),
    CurvePlot((Curve("people", ()),)),
    RaterMap("j", ()),
    TradeOff("up", "across", ()),
    TurnPlot(()),
    TurnPlot((TurnLine("m", ()),)),
]


@pytest.mark.parametrize("plot", EMPTY, ids=lambda plot: type(plot).__name__)
def test_nothing_to_draw_is_said(plot: Plot) -> None:
    with pytest.raises(ValueError, match=r"without .*expected at least one"):
        draw(plot, "svg")


def test_a_plot_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2 categories has rows of \[2, 1\] counts"):
        draw(ConfusionMap("x", "y", ("a", "b"), ((1, 2), (3,))), "svg")
    with pytest.raises(ValueError, match="'gif'; expected one of svg, pdf, png"):
        draw(USUAL[Forest], cast(Any, "gif"))


def test_lines_of_dialogues_of_other_lengths_are_never_in_one_plot() -> None:
    lines = (TurnLine("two", (figure(0.1),) * 2), TurnLine("three", (figure(0.1),) * 3))
    with pytest.raises(ValueError, match=r"lines of \[2, 3\] turns; expected one length"):
        draw(TurnPlot(lines), "svg")


def test_lines_by_turn_start_at_zero_and_say_what_is_undefined() -> None:
    """Shares of 40 % to 60 %: an axis cut at 35 % would make the rise look like all there is."""
    lines = (
        TurnLine("rises", (figure(0.4), figure(0.5), figure(0.6))),
        TurnLine("unlabelled", (UNDEFINED,) * 3),
        TurnLine("late", (figure(0.4), UNDEFINED, figure(0.5))),
        TurnLine("later", (UNDEFINED, UNDEFINED, figure(0.5))),
    )
    said = words(draw(TurnPlot(lines), "svg"))
    assert {"turn", "1", "2", "3", "0", "rises", "unlabelled", "late", "later"} <= set(said)
    note = " ".join(said[-2:])
    assert note == ("– undefined: unlabelled at every turn, late at turn 2, later at turns 1, 2")


def test_numbers_of_many_turns_do_not_run_into_each_other() -> None:
    said = words(draw(TurnPlot((TurnLine("m", (figure(0.5),) * 60),)), "svg"))
    assert [one for one in said if one in ("1", "2", "6", "7", "11")] == ["1", "6", "11"]


def test_what_each_picture_says() -> None:
    said = {kind: words(draw(plot, "svg")) for kind, plot in USUAL.items()}
    assert "naming the better model" in said[GapPlot]
    assert set(MODELS) <= set(said[RatePlot])
    assert {"consistent", "error", "60", "30"} <= set(said[PositionBars])
    assert {"–", "7", "25 %"} <= set(said[ConfusionMap])
    assert {"flagged", "50 votes"} <= set(said[RaterMap])
    assert "simultaneous band" in said[Forest]
    assert {"alpaca-13b", "claude-v1 (0 %)", "100"} <= set(said[TradeOff])
    flagged = [dot.label for dot in cast(RaterMap, USUAL[RaterMap]).dots if dot.flagged]
    assert [one for one in MODELS if one in said[RaterMap]] == flagged


def boxes(svg: bytes, names: tuple[str, ...]) -> list[tuple[float, float, float, float]]:
    """Where these names stand: left, top, right, bottom, in points."""
    from judge.reporting.drawing.lettering import width

    found = []
    for text in ET.fromstring(svg).iter(f"{SVG}text"):
        if text.text in names:
            x, y = float(cast(str, text.get("x"))), float(cast(str, text.get("y")))
            wide = 72 * width(text.text)
            anchor = cast(str, text.get("style")).split("text-anchor: ")[1].split(";")[0]
            x -= {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            found.append((x, y - 5.3, x + wide, y))
    return found


def test_names_of_close_dots_do_not_overlap() -> None:
    dots = tuple(
        RateDot(model, figure(0.5 + 0.01 * i, 0.04), figure(0.5 + 0.008 * i, 0.04))
        for i, model in enumerate(MODELS)
    )
    found = boxes(draw(RatePlot("gpt-4", dots), "svg"), MODELS)
    assert len(found) == len(MODELS)
    for index, one in enumerate(found):
        assert one[0] >= 0
        assert one[2] <= 237.6
        for other in found[:index]:
            apart = one[0] >= other[2] or other[0] >= one[2]
            assert apart or one[1] >= other[3] or other[1] >= one[3], (one, other)


def test_versions_are_connected_in_order() -> None:
    """An arrow is a path of its own: one for each step, none to a model that is not drawn."""

    def paths(*versions: tuple[str, ...]) -> int:
        dots = tuple(
            TradeOffDot(name, scaled(figure(0.5 + i / 10), 10), scaled(figure(0.9), 100), None)
            for i, name in enumerate(MODELS[:3])
        )
        svg = draw(TradeOff("up", "across", dots, versions), "svg")
        return len(list(ET.fromstring(svg).iter(f"{SVG}path")))

    step = paths(MODELS[:2]) - paths()
    assert step > 0
    assert paths(MODELS[:3]) - paths() == 2 * step
    assert paths(("nobody", MODELS[0])) == paths()


def test_threads_draw_the_same_and_settings_stay_as_they_were() -> None:
    alone = [draw(plot, "svg") for plot in USUAL.values()]
    import matplotlib

    theirs: dict[Any, Any] = {"font.size": 30.0, "svg.hashsalt": "theirs", "text.parse_math": True}
    with matplotlib.rc_context(theirs):
        before = dict(matplotlib.rcParams)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda plot: draw(plot, "svg"), USUAL.values())) == alone
        assert dict(matplotlib.rcParams) == before


@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="pdftoppm is not installed")
@KINDS
def test_a_pdf_opens(kind: type, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(draw(USUAL[kind], "pdf"))
    done = subprocess.run(
        ["pdftoppm", "-r", "72", "-png", "a.pdf", "a"], cwd=tmp_path, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (page,) = tmp_path.glob("a*.png")
    assert struct.unpack(">I", page.read_bytes()[16:20])[0] in (237, 238)

"""A report as one HTML page that needs nothing else: styles and pictures are inside.

The page may be opened from a disk, mailed, printed: it makes no request, and its policy
forbids any. Pictures stand in it as images, so a script inside one would not run either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from judge.reporting.characters import one_line
from judge.reporting.document import Document
from judge.reporting.html_views import section_view, text_view
from judge.reporting.references import numbers

_FOLDER = "page"


def to_html(
    document: Document, pictures: Mapping[str, str], beside: Sequence[tuple[str, str]] = ()
) -> str:
    """The whole page.

    Args:
        document: what it says; every id in it is unique among its kind.
        pictures: SVG of the pictures by id; of those that are missing the page prints the words.
        beside: (what it holds, name) of the files that lie in the page's folder.
    """
    number = numbers(document)
    return _template().render(
        title=one_line(document.title),
        settings=one_line(document.settings),
        lead=[text_view(text) for text in document.lead],
        sections=[section_view(section, number, pictures) for section in document.sections],
        beside=beside,
        one_page=document.one_page,
        style=_style(),
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("judge.reporting", _FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.jinja")


@cache
def _style() -> Markup:
    """Ours alone: no text of a document ever stands in it."""
    file = resources.files("judge.reporting") / _FOLDER / "report.css"
    return Markup(file.read_text("utf-8"))

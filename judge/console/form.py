"""The form that starts the judge from the console: what stands in it, and what it asks for.

Everything comes from a browser, so everything is checked here. The key is no part of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, cast, get_args
from urllib.parse import urlsplit

from annotate.errors import UsageError
from annotate.records import whole_text
from annotate.study import JudgeSection, Settings, Study
from judge.ask.modes import Mode
from judge.ask.words import shipped_names
from judge.commands.calling import CallOptions
from judge.commands.judge_command import PlanOptions, judge_settings
from judge.engine.local import MODEL
from judge.engine.plan import Turns
from judge.engine.settings import JudgeSettings
from judge.engine.units import References

ENDPOINT, LOCAL = "endpoint", "local"
MODES: Mapping[str, Mode] = {
    "Compare pairs, in both orders": Mode.PAIRWISE,
    "Grade answers from 1 to 10": Mode.GRADE,
    "Label answers for harm": Mode.HARM,
}
"""What can be asked, in the page's words."""
TEXT_LIMIT = 500
REPLICATES = 100


@dataclass(frozen=True, slots=True)
class Form:
    """The fields, in the order of the page; None and "" are left empty."""

    kind: str = ENDPOINT
    base_url: str = ""
    model: str = ""
    mode: str = Mode.PAIRWISE.value
    dimensions: tuple[str, ...] = ()
    limit: int | None = None
    baseline: str = ""
    replicates: int = 1
    max_usd: float | None = None
    max_tokens: int | None = None
    turns: Turns = "each"
    references: References = "auto"
    retry_failed: bool = False
    name: str = ""

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> Form:
        """The form as a browser sent it.

        Raises:
            UsageError: names the field, what was found and what was expected.
        """
        given = dict(zip((f.name for f in fields(cls)), values, strict=True))
        return cls(
            kind=_one_of("kind", given, (ENDPOINT, LOCAL)),
            base_url=_text("base_url", given["base_url"]),
            model=_text("model", given["model"]),
            mode=_one_of("mode", given, tuple(Mode)),
            dimensions=tuple(_text("dimensions", d) for d in given["dimensions"] or ()),
            limit=_whole("limit", given),
            baseline=_text("baseline", given["baseline"]),
            replicates=_whole("replicates", given, REPLICATES) or 1,
            max_usd=_number("max_usd", given),
            max_tokens=_whole("max_tokens", given),
            turns=cast(Turns, _one_of("turns", given, get_args(Turns))),
            references=cast(References, _one_of("references", given, get_args(References))),
            retry_failed=bool(given["retry_failed"]),
            name=_text("name", given["name"]),
        )

    def title(self) -> str:
        """What is judged, in one line."""
        words = next(words for words, mode in MODES.items() if mode == self.mode)
        who = f"{MODEL} (offline)" if self.kind == LOCAL else self.model or "?"
        parts = [words.lower()]
        if self.mode != Mode.HARM:
            parts.append(", ".join(self.dimensions))
        if self.baseline and self.mode == Mode.PAIRWISE:
            parts.append(f"only with {self.baseline}")
        if self.limit:
            parts.append(f"the first {self.limit:,}")
        if self.replicates > 1:
            parts.append(f"{self.replicates} times")
        return f"{who}: {' · '.join(parts)}"


def prefilled(settings: Settings) -> Form:
    """The form as study.toml fills it in."""
    judge = settings.judge
    return Form(
        kind=ENDPOINT if judge.base_url and judge.model else LOCAL,
        base_url=judge.base_url,
        model=judge.model,
        dimensions=tuple(d.name for d in settings.protocol.dimensions),
    )


def dimensions(settings: Settings) -> list[str]:
    """What a judge can be asked about: the study's own, then those with words that ship."""
    own = [d.name for d in settings.protocol.dimensions]
    return own + [name for name in shipped_names() if name not in own]


def opener(study: Study, settings: Settings, form: Form) -> Opener:
    """What opens the judge that a form describes.

    Raises:
        UsageError: nothing is to be asked about.
    """
    if form.mode != Mode.HARM and not form.dimensions:
        raise UsageError("dimensions: none is chosen; expected one or more")
    return partial(_opened, replace(study, settings=settings), form)


Opener = Callable[[], AbstractContextManager[JudgeSettings]]


@contextmanager
def _opened(study: Study, form: Form) -> Iterator[JudgeSettings]:
    local, pairwise = form.kind == LOCAL, form.mode == Mode.PAIRWISE
    calls = CallOptions(
        local=local,
        base_urls=() if local or not form.base_url else (form.base_url,),
        model=None if local else form.model,
        retry_failed=form.retry_failed,
        max_usd=None if local else form.max_usd,
        max_tokens=form.max_tokens,
    )
    plan = PlanOptions(
        mode=form.mode,
        dimensions=() if form.mode == Mode.HARM else form.dimensions,
        limit=form.limit,
        baseline=form.baseline if pairwise else "",
        turns=form.turns,
        references=form.references,
        replicates=form.replicates,
        name=form.name,
    )
    with judge_settings(study, calls, plan) as chosen:
        yield chosen if local else _key_stays(chosen, study.settings.judge)


def _key_stays(chosen: JudgeSettings, judge: JudgeSection) -> JudgeSettings:
    """Without the key, unless it goes where study.toml says.

    Who holds the owner's link may type any address; the key of the server's machine is not
    theirs to send there. The name in place of the variable's is what an error would show.
    """
    known = {_server(url) for url in (judge.base_url, *(e.base_url for e in judge.endpoints))}
    unset = f"{judge.api_key_env} (sent only to the base_url in study.toml)"
    endpoints = tuple(
        endpoint if _server(endpoint.base_url) in known else replace(endpoint, api_key_env=unset)
        for endpoint in chosen.endpoints
    )
    return replace(chosen, endpoints=endpoints)


def key_words(judge: JudgeSection, environment: Mapping[str, str] = os.environ) -> str:
    """Whether there is a key, and where it goes; never what it is."""
    name = judge.api_key_env
    if not environment.get(name):
        return (
            f"No key: the environment variable {name} is not set where this server was started."
            " Endpoints that need none work all the same."
        )
    where = f"to {judge.base_url}" if judge.base_url else "once study.toml has a base_url, to it"
    return f"The key in {name} is set. It is sent only {where}; another URL is asked without it."


def _server(url: str) -> tuple[str, str]:
    """Scheme and host with port; what cannot be read is refused where it is used."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", url
    return parts.scheme, parts.netloc.lower()


def _one_of(name: str, given: Mapping[str, Any], known: Sequence[str]) -> str:
    value = given[name]
    if value not in known:
        raise UsageError(f"{name}: {str(value)[:40]!r}; expected one of {', '.join(known)}")
    return str(value)


def _text(name: str, value: object) -> str:
    text = "" if value is None else value
    if not isinstance(text, str) or len(text) > TEXT_LIMIT:
        raise UsageError(f"{name}: not a text of at most {TEXT_LIMIT} characters")
    return whole_text(text.strip())


def _number(name: str, given: Mapping[str, Any]) -> float | None:
    value = given[name]
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        raise UsageError(f"{name}: {str(value)[:40]}; expected a number above 0, or nothing")
    return float(value)


def _whole(name: str, given: Mapping[str, Any], most: int = 10**15) -> int | None:
    number = _number(name, given)
    if number is None:
        return None
    if number != int(number) or number > most:
        raise UsageError(f"{name}: {number:g}; expected a whole number from 1 to {most}")
    return int(number)

"""A study: a folder with `study.toml` and one SQLite file.

`[protocol]` is only what raters see, versioned by hash and written on every vote;
assignment settings may change mid-study and are logged as events.
"""

from __future__ import annotations

import json
import sqlite3
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator

from .errors import StoreMissing, UsageError
from .grade_protocol import Grades
from .harm import HARM
from .harm_protocol import Care, HarmLabels
from .harm_protocol import Section as _Section
from .presets import preset, study_text
from .records import canonical_json, digest
from .store import FILE_NAME, Store, now

SETTINGS_NAME = "study.toml"
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class HumanSubjects(_Section):
    """`[study.human_subjects]`: what a paper says of the people who rated."""

    recruitment: str = ""
    pay: str = ""
    ethics: str = ""
    training: str = ""
    population: str = ""


class StudySection(_Section):
    """`[study]`: what it is called and whom raters can ask."""

    title: str = Field(min_length=1, max_length=200)
    language: Literal["en"] = "en"
    contact: str = ""
    human_subjects: HumanSubjects = HumanSubjects()


class Dimension(_Section):
    """`[[protocol.dimensions]]`: one question asked about every pair, in its own words."""

    name: Name
    question: str = Field(min_length=1)
    a: str = "A is better"
    b: str = "B is better"
    tie: str = "Tie"
    both_bad: str = "Both are bad"
    rubric: str = ""


class ProtocolSection(_Section):
    """`[protocol]`: everything that raters see and agree to."""

    instructions: str
    consent: str
    content_notice: str = ""
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    reveal: Literal["after_vote", "all"] = "after_vote"
    comments: bool = True
    skip_reasons: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = (
        "I cannot judge this topic",
        "The content is distressing",
        "Something is broken on this page",
    )
    harm_labels: HarmLabels | None = None
    grades: Grades | None = None
    care: Care | None = None

    @field_validator("dimensions")
    @classmethod
    def _distinct(cls, value: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
        names = [d.name for d in value]
        if len(set(names)) != len(names):
            raise ValueError(f"names must differ; found {names}")
        return value

    @cached_property
    def id(self) -> str:
        """The protocol's version: SHA-256 of everything in it."""
        return digest(self.body())

    @cached_property
    def answer_forms(self) -> dict[str, HarmLabels | Grades]:
        """What raters are asked about single answers, by dimension; empty: nothing."""
        forms: dict[str, HarmLabels | Grades] = {}
        if self.harm_labels is not None:
            forms[HARM] = self.harm_labels
        if self.grades is not None:
            forms[self.grades.dimension] = self._with_rubric(self.grades)
        return forms

    def _with_rubric(self, grades: Grades) -> Grades:
        """With the rubric that pairs are compared by on this dimension, if it has none."""
        rubric = {one.name: one.rubric for one in self.dimensions}.get(grades.dimension, "")
        return grades if grades.guidance else grades.model_copy(update={"guidance": rubric})

    def body(self) -> dict[str, Any]:
        """Everything in it, as plain values; a part that is not there leaves no trace.

        So a protocol without harm labels, or grades, has the version it had before there were any.
        """
        return self.model_dump(mode="json", exclude_none=True)


class AssignmentSection(_Section):
    """`[assignment]`: who gets what when; may change mid-study.

    `tasks` is what raters are given, in this order. `labels` are people per answer; `answers`
    is whether every answer is labelled or only those of a drawn sample. `adjudicate_agreements`
    is the share of units with like labels that an adjudicator sees as well.
    """

    overlap: int = Field(default=2, ge=1, le=1000)
    tasks: tuple[Literal["pairs", "answers"], ...] = Field(
        default=("pairs", "answers"), min_length=1
    )
    labels: int = Field(default=2, ge=1, le=1000)
    answers: Literal["all", "planned"] = "all"
    adjudicate_agreements: float = Field(default=0.10, ge=0, le=1)
    lease_minutes: float = Field(default=30, gt=0, le=24 * 60)
    skips_before_owner: int = Field(default=2, ge=1)
    identity_leaks: Literal["keep", "exclude"] = "keep"


class Price(_Section):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class EndpointSection(_Section):
    """`[[judge.endpoints]]`: one of several places that serve the judge's model."""

    base_url: str = Field(min_length=1)
    weight: float = Field(default=1, gt=0, allow_inf_nan=False)
    api_key_env: str = ""


class JudgeSection(_Section):
    """`[judge]`: the endpoint that answers the same questions."""

    base_url: str = ""
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float = Field(default=0, ge=0, le=2)
    max_tokens: int = Field(default=1024, ge=1)
    concurrency: int = Field(default=8, ge=1, le=1024)
    attempts: int = Field(default=4, ge=1, le=20)
    timeout_seconds: float = Field(default=120, gt=0)
    explain: bool = True
    output: Literal["tag", "json", "auto"] = "tag"
    seed: int = 7
    rpm: int | None = Field(default=None, ge=1)
    tpm: int | None = Field(default=None, ge=1)
    prices: dict[str, Price] = Field(default={})
    endpoints: tuple[EndpointSection, ...] = ()
    proxy: str = ""
    ca_file: str = ""


class ReportSection(_Section):
    """`[report]`: how intervals are made."""

    level: float = Field(default=0.95, gt=0.5, lt=1)
    resamples: int = Field(default=10_000, ge=100, le=1_000_000)
    seed: int = Field(default=7, ge=0)


class Settings(_Section):
    """The whole of study.toml."""

    study: StudySection
    protocol: ProtocolSection
    assignment: AssignmentSection = AssignmentSection()
    judge: JudgeSection = JudgeSection()
    report: ReportSection = ReportSection()


@dataclass(frozen=True)
class Study:
    """An opened study: its folder, settings and store."""

    folder: Path
    settings: Settings
    store: Store

    def close(self) -> None:
        """Close the store's connections."""
        self.store.close()


def init(folder: Path, title: str | None = None, preset_name: str | None = None) -> Study:
    """Make a study: a commented `study.toml` and an empty database.

    Args:
        folder: made if need be.
        title: that raters see; default: the preset's, or the folder's name.
        preset_name: a preset whose protocol it starts with.

    Raises:
        UsageError: the folder holds a study already, or there is no such preset.
    """
    if (folder / SETTINGS_NAME).exists() or (folder / FILE_NAME).exists():
        raise UsageError(
            f"{folder}: holds a study already; choose another folder, or go on with it"
            f" (evenhand status {folder})"
        )
    template = resources.files("annotate").joinpath("study.toml.template").read_text("utf-8")
    named = folder.resolve().name or "study"
    if preset_name is not None:
        chosen = preset(preset_name)
        template, named = study_text(template, chosen), chosen.facts.title
    # A JSON string is a TOML string: quotes and line breaks cannot end the setting.
    text = template.replace('"{title}"', json.dumps(title or named, ensure_ascii=False))
    settings = _settings(text, folder / SETTINGS_NAME)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        store = Store.create(folder / FILE_NAME, f"evenhand {version('evenhand')}")
        (folder / SETTINGS_NAME).write_text(text, "utf-8")
    except (OSError, sqlite3.OperationalError) as error:
        raise UsageError(f"{folder}: cannot make a study here ({error})") from error
    apply_settings(store, settings)
    return Study(folder, settings, store)


def open_study(folder: Path) -> Study:
    """Open a study and record its settings where they changed.

    Raises:
        StoreMissing: no study there.
        UsageError: study.toml is not as expected.
        StoreError: the database cannot be used.
    """
    if not (folder / SETTINGS_NAME).exists():
        raise StoreMissing(
            f"{folder}: no study here ({SETTINGS_NAME} not found);"
            f" make one with: evenhand init {folder}"
        )
    settings = load_settings(folder)
    store = Store.open(folder / FILE_NAME)
    apply_settings(store, settings)
    return Study(folder, settings, store)


def load_settings(folder: Path) -> Settings:
    """Read and validate study.toml.

    Raises:
        UsageError: with the file, the field, what was found and what was expected.
    """
    path = folder / SETTINGS_NAME
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    return _settings(text, path)


def _settings(text: str, path: Path) -> Settings:
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise UsageError(
            f"{path}: {field}: {first['msg']}; found {_short(first.get('input'))}{more}"
        ) from error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def apply_settings(store: Store, settings: Settings) -> None:
    """Store a new protocol version and new assignment settings, if they changed."""
    protocol, assignment = settings.protocol, settings.assignment.model_dump(mode="json")
    known = store.conn.execute("SELECT 1 FROM protocol WHERE id = ?", (protocol.id,)).fetchone()
    last = store.conn.execute(
        "SELECT body FROM setting WHERE scope = 'assignment' ORDER BY rowid DESC LIMIT 1"
    ).fetchone()
    if known and last and last[0] == canonical_json(assignment):
        return
    with store.write() as conn:
        if not known:
            body = canonical_json(protocol.body())
            conn.execute(
                "INSERT OR IGNORE INTO protocol (id, created_at, body) VALUES (?, ?, ?)",
                (protocol.id, now(), body),
            )
            store.log(conn, "protocol", protocol.id, {"body": body})
        if not last or last[0] != canonical_json(assignment):
            _log_setting(store, conn, assignment)


def protocol(store: Store, version: str) -> ProtocolSection:
    """A stored version of what raters see."""
    row = store.conn.execute("SELECT body FROM protocol WHERE id = ?", (version,)).fetchone()
    return ProtocolSection.model_validate_json(row[0])


def _log_setting(store: Store, conn: Any, assignment: dict[str, Any]) -> None:
    setting_id = digest([assignment, now()])
    conn.execute(
        "INSERT INTO setting (id, created_at, scope, body) VALUES (?, ?, 'assignment', ?)",
        (setting_id, now(), canonical_json(assignment)),
    )
    store.log(conn, "setting", setting_id, assignment)

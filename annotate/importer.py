"""Files into the store, with every record accounted for: imported, merged, or listed.

Questions come first whatever the order of the files, then answers and references, then
labels, so that label-only votes can bind to pairs with text. Judges' labels are handed to
`verdicts` (the judge's side of the house): nothing here knows where they go.
"""

from __future__ import annotations

import hashlib
import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from . import ballots, binding, labels, library
from .batches import in_batches
from .errors import DataError, UsageError
from .harm import HARM, AnswerLabel
from .library import Added
from .readers import Problem, Source, Where, sources
from .readers.detect import JUDGMENTS
from .records import (
    INLINE,
    OVERALL,
    Answer,
    Grade,
    Label,
    Question,
    QuestionKey,
    Reference,
    SourceKind,
    asked_turns,
    canonical_json,
    empty_turns,
    stable_id,
)
from .store import Store, now
from .versions import version_in

BATCH = 2_000


@dataclass(frozen=True, slots=True)
class BoundLabel:
    """A judge's label and the pair it is about."""

    where: Where
    label: Label
    pair_id: str


@dataclass(frozen=True, slots=True)
class BoundGrade:
    """A judge's grade and the row of the answer it is about."""

    where: Where
    grade: Grade
    answer_id: str


Bound: TypeAlias = BoundLabel | BoundGrade
VerdictSink = Callable[[Sequence[Bound]], "list[Added | Problem]"]
"""Stores judges' labels and grades; answers one entry for each, in order."""


@dataclass
class Account:
    """What became of every record read."""

    read: Counter[str] = field(default_factory=Counter)
    imported: Counter[str] = field(default_factory=Counter)
    merged: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    files: list[tuple[Source, str]] = field(default_factory=list)
    pairs_added: int = 0

    @property
    def refused(self) -> list[Problem]:
        """Records that were not imported."""
        return [p for p in self.problems if not p.warning]

    @property
    def warnings(self) -> list[Problem]:
        """Records that were imported but deserve a look."""
        return [p for p in self.problems if p.warning]

    @property
    def added(self) -> int:
        """How many things this import added to the study."""
        return sum(self.imported.values()) + self.pairs_added

    def take(self, kind: str, what: Added | Problem) -> None:
        """Count one record of a kind."""
        if isinstance(what, Problem):
            self.problems.append(what)
        elif what is Added.NEW:
            self.imported[kind] += 1
        else:
            self.merged[kind] += 1


def import_paths(
    store: Store,
    paths: Iterable[Path],
    verdicts: VerdictSink,
    *,
    benchmark: str | None = None,
    dimensions: Collection[str] = (),
    progress: Callable[[str, int], None] = lambda _name, _count: None,
) -> Account:
    """Read everything under the paths into the store.

    A path that does not exist is refused before anything is read. Each file is stored in
    short transactions; killing the program leaves a study that the next import completes.
    Labels on a dimension that is not among `dimensions` (if any are given) get a note.

    Raises:
        UsageError: a path does not exist.
    """
    todo: list[Source] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: not found; give a folder or a JSONL file")
        todo += sources(path, benchmark or _benchmark_of_labels(store, path))
    account = Account()
    for source in sorted(todo, key=lambda s: s.phase):
        _import_file(store, source, verdicts, account, dimensions, progress)
    return account


def _benchmark_of_labels(store: Store, path: Path) -> str | None:
    """A lone label file goes to the study's only benchmark, whatever its folder is called."""
    if path.is_dir() or any(s.kind not in JUDGMENTS for s in sources(path, "")):
        return None
    names = [r[0] for r in store.conn.execute("SELECT DISTINCT benchmark FROM question")]
    return names[0] if len(names) == 1 else None


def _import_file(
    store: Store,
    source: Source,
    verdicts: VerdictSink,
    account: Account,
    dimensions: Collection[str],
    progress: Callable[[str, int], None],
) -> None:
    account.files.append((source, source.kind))
    if source.reader is None:
        noted = source.kind != "unreadable"
        account.problems.append(Problem(source.where, "", source.note, warning=noted))
        return
    before = account.added
    # A folder of answers means every pair of them; a file of pairs means just those pairs,
    # since they may be a drawn sample.
    answers = _AnswerSets(every_pair=source.kind == "model answers")
    judged = _Labels(store, verdicts, account, dimensions)
    done, other = 0, None
    for batch in in_batches(source.reader(source.path, source.name, source.benchmark), BATCH):
        with store.write() as conn:
            for item in batch:
                if isinstance(item, Problem):
                    account.problems.append(item)
                elif isinstance(item.record, Answer):
                    account.read["answers"] += 1
                    # What a line says to another question is no answer to the stored one.
                    if item.where != other:
                        account.take("answers", answers.add(item.where, item.record))
                elif isinstance(item.record, Label):
                    judged.add(conn, item.where, item.record)
                elif isinstance(item.record, AnswerLabel):
                    judged.add_label(conn, item.where, item.record)
                elif isinstance(item.record, Grade):
                    judged.add_grade(conn, item.where, item.record)
                elif not _add_plain(store, conn, item.where, item.record, account):
                    other = item.where
            judged.store_votes(conn)
        judged.store_verdicts()
        done += len(batch)
        progress(source.name, done)
    answers.store(store, account)
    # Which answers a line shows can be told when they are there.
    for labels_ in in_batches(judged.waiting(), BATCH):
        with store.write() as conn:
            for where, label in labels_:
                judged.bind(conn, where, label)
            judged.store_votes(conn)
        judged.store_verdicts()
    _remember(store, source, account, account.added - before)


def _add_plain(
    store: Store,
    conn: sqlite3.Connection,
    where: Where,
    record: Question | Reference,
    account: Account,
) -> bool:
    """Whether it stands, now or before."""
    kind = "questions"
    if isinstance(record, Reference):
        kind = "inline references" if record.source == INLINE else "references"
    account.read[kind] += 1
    try:
        if isinstance(record, Question):
            what = library.add_question(conn, record)
            logged = (record.id, {"turns": library.question_digest(record.turns or ())})
        else:
            what = library.add_reference(conn, record)
            logged = (library.reference_id(record), {"hash": record.hash})
        account.take(kind, what)
        if what is Added.NEW:
            store.log(conn, kind, *logged)
    except DataError as error:
        account.take(kind, Problem(where, "question_id", str(error)))
        return False
    return True


class _AnswerSets:
    """The answers of one file, held until it ends: a model version is a whole set."""

    def __init__(self, *, every_pair: bool) -> None:
        self._every_pair = every_pair
        self._lines: dict[Where, list[str]] = {}
        self._sets: dict[tuple[str, str], dict[str, tuple[Where, Answer]]] = {}

    def add(self, where: Where, answer: Answer) -> Added | Problem:
        """MERGED for a repeat within the file; NEW answers are only counted when stored."""
        self._lines.setdefault(where, []).append(answer.id)
        known = self._sets.setdefault((answer.key.benchmark, answer.model), {})
        question = Question(answer.key).id
        if question not in known:
            known[question] = (where, answer)
            return Added.NEW
        first, same = known[question]
        if same.hash == answer.hash:
            return Added.MERGED
        return Problem(
            where,
            "question_id",
            f"another answer of {answer.model} to question {answer.key.question_id}"
            f" stands on line {first.line}; the first one is kept",
        )

    def store(self, store: Store, account: Account) -> None:
        """Store every set, then make the pairs that the file means."""
        for (benchmark, model), held in self._sets.items():
            with store.write() as conn:
                known: list[Answer] = []
                for where, answer in held.values():
                    question = library.question(conn, answer.key)
                    problem = _unusable(where, answer, question)
                    if problem is None and library.begins(conn, answer):
                        account.imported["answers"] -= 1
                        account.merged["answers"] += 1
                    elif problem is None:
                        known.append(answer)
                        account.problems += _empty(where, answer, question)
                    else:
                        account.imported["answers"] -= 1
                        account.problems.append(problem)
                done = library.add_answers(conn, benchmark, model, known) if known else {}
            repeats = sum(1 for what in done.values() if what is Added.MERGED)
            account.imported["answers"] -= repeats
            account.merged["answers"] += repeats
        if self._sets:
            with store.write() as conn:
                account.pairs_added += library.build_pairs(conn, store.study_id, self._wanted())

    def _wanted(self) -> Callable[[Answer, Answer], bool]:
        if self._every_pair:
            ours = {answer_id for line in self._lines.values() for answer_id in line}
            return lambda one, other: one.id in ours or other.id in ours
        listed = {frozenset(line) for line in self._lines.values()}
        return lambda one, other: frozenset((one.id, other.id)) in listed


def _unusable(where: Where, answer: Answer, question: Question | None) -> Problem | None:
    name, version = version_in(answer.model)
    if version is not None:
        return Problem(
            where,
            "model",
            f"{answer.model} is what answer set {version} of {name} is called here; expected"
            f" another name: as {name} its answers make a version of their own",
        )
    if question is None or question.turns is None:
        return Problem(
            where,
            "question_id",
            f"answers question {answer.key.question_id}, which is not in"
            f" benchmark {answer.key.benchmark}; import its questions too",
        )
    count, expected, asked = len(answer.turns or ()), len(question.turns), asked_turns(question)
    if not asked:
        return Problem(
            where,
            "question_id",
            f"question {answer.key.question_id} asks nothing: each of its turns ends with an"
            " assistant's message",
        )
    if count > expected:
        return Problem(where, "choices", f"has {count} turns, the question has {expected}")
    # Replies to the asked turns alone would be taken for those to the first turns.
    if count == len(asked) < expected and all(answer.turns or ()):
        return Problem(
            where,
            "choices",
            f"has {count} turns, the question has {expected}, of which {_listed(asked)} are asked;"
            " give null for the others",
        )
    return None


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _empty(where: Where, answer: Answer, question: Question | None) -> list[Problem]:
    return [
        Problem(
            where,
            "turns",
            f"{answer.model}, question {answer.key.question_id}: turn {turn} is empty",
            warning=True,
        )
        for turn in empty_turns(answer, question)
    ]


class _Labels:
    """The judgments of one file: bound to pairs or answers, then votes here, others to the sink."""

    def __init__(
        self,
        store: Store,
        verdicts: VerdictSink,
        account: Account,
        dimensions: Collection[str],
    ) -> None:
        self._known = {*dimensions, OVERALL} if dimensions else set[str]()
        self._asked: dict[QuestionKey, tuple[int, list[int]] | None] = {}
        self._store = store
        self._study = store.study_id
        self._sink = verdicts
        self._account = account
        self._bound: dict[tuple[object, ...], str] = {}
        self._waiting: list[tuple[Where, Label]] = []
        self._lines: dict[str, int] = {}
        self._votes: list[BoundLabel] = []
        self._verdicts: list[Bound] = []

    def add(self, conn: sqlite3.Connection, where: Where, label: Label) -> None:
        """Bind one label; with texts it waits for the answers of its file."""
        self._account.read[_kind(label)] += 1
        if label.texts is None:
            self.bind(conn, where, label)
        else:
            self._waiting.append((where, label))

    def waiting(self) -> Iterator[tuple[Where, Label]]:
        """Labels with texts, in the order of the file."""
        yield from self._waiting

    def bind(self, conn: sqlite3.Connection, where: Where, label: Label) -> None:
        """Find the pair that a label is about."""
        kind, label = _kind(label), label.canonical()
        if problem := _unseen(where, label) or self._off(conn, where, label):
            self._account.take(kind, problem)
            return
        key, models = label.key, (label.model_a, label.model_b)
        meant = (key.benchmark, key.question_id, *models, label.texts, label.asked)
        try:
            if meant not in self._bound:
                self._bound[meant] = binding.bind(
                    conn, self._study, key, *models, label.texts, label.asked
                )
        except DataError as error:
            self._account.take(kind, Problem(where, "model_a", str(error)))
            return
        pair = self._bound[meant]
        if label.texts is not None:
            first, second = binding.names_of(conn, pair)
            label = replace(label, model_a=first, model_b=second)
        bound = BoundLabel(where, label, pair)
        (self._votes if kind == "votes" else self._verdicts).append(bound)

    def add_grade(self, conn: sqlite3.Connection, where: Where, grade: Grade) -> None:
        """Bind one grade; it is stored with its batch."""
        self._account.read["grades"] += 1
        if problem := self._off_turn(conn, where, grade):
            self._account.take("grades", problem)
            return
        try:
            answer = binding.bind_answer(conn, grade.key, grade.model)
        except DataError as error:
            self._account.take("grades", Problem(where, "model", str(error)))
            return
        self._verdicts.append(BoundGrade(where, grade, answer))

    def add_label(self, conn: sqlite3.Connection, where: Where, label: AnswerLabel) -> None:
        """Bind one person's harm label or grade, store it; a repeat inside the file is named."""
        graded = label.dimension != HARM
        kind = "people's grades" if graded else "harm labels"
        self._account.read[kind] += 1
        if problem := self._off_turn(conn, where, label):
            self._account.take(kind, problem)
            return
        try:
            answer = binding.bind_answer(conn, label.key, label.model)
        except DataError as error:
            self._account.take(kind, Problem(where, "model", str(error)))
            return
        first = self._lines.setdefault(labels.import_key(label), where.line)
        what = labels.import_label(self._store, conn, label, answer, where)
        self._account.take(kind, what)
        if what is Added.MERGED and first != where.line:
            what_it_is = "grade" if graded else "label"
            told = f"merged: {label.source_id} gave the same {what_it_is} on line {first}"
            self._account.problems.append(Problem(where, "", told, warning=True))

    def _off(self, conn: sqlite3.Connection, where: Where, label: Label) -> Problem | None:
        """A turn that cannot be judged; a note on a dimension seen for the first time."""
        if problem := self._off_turn(conn, where, label):
            return problem
        if self._known and label.dimension not in self._known:
            self._known.add(label.dimension)
            self._account.problems.append(
                Problem(
                    where,
                    "dimension",
                    f"{label.dimension!r} is not one of this study's; it gets a report of its own",
                    warning=True,
                )
            )
        return None

    def _off_turn(
        self, conn: sqlite3.Connection, where: Where, label: Label | Grade | AnswerLabel
    ) -> Problem | None:
        """A turn that the question does not have, or to which it gives the reply itself."""
        if self._asked.get(label.key) is None:
            question = library.question(conn, label.key)
            self._asked[label.key] = (
                (len(question.turns), asked_turns(question))
                if question and question.turns is not None
                else None
            )
        known = self._asked[label.key]
        if known is None or label.turn == 0 or label.turn in known[1]:
            return None
        count, asked = known
        if label.turn > count:
            return Problem(where, "turn", f"found {label.turn}, the question has {count}")
        return Problem(
            where,
            "turn",
            f"found {label.turn}, whose reply is given with the question; expected one of"
            f" {_listed(asked)}, or 0 for the whole dialogue",
        )

    def store_votes(self, conn: sqlite3.Connection) -> None:
        """Store the batch's votes; a repeat inside the file is named, not only counted."""
        for bound in self._votes:
            key = ballots.import_key(bound.label)
            first = self._lines.setdefault(key, bound.where.line)
            what = ballots.import_vote(self._store, conn, bound.label, bound.pair_id, bound.where)
            self._account.take("votes", what)
            if what is Added.MERGED and first != bound.where.line:
                self._account.problems.append(
                    Problem(
                        bound.where,
                        "",
                        f"merged: {bound.label.source_id} cast the same vote on line {first}",
                        warning=True,
                    )
                )
        self._votes = []

    def store_verdicts(self) -> None:
        """Hand the batch's verdicts and grades to the judge's side."""
        if self._verdicts:
            for bound, what in zip(self._verdicts, self._sink(self._verdicts), strict=True):
                kind = "grades" if isinstance(bound, BoundGrade) else "verdicts"
                self._account.take(kind, what)
        self._verdicts = []


def _unseen(where: Where, label: Label) -> Problem | None:
    """A judgment of a turn that the line's own conversations do not reach."""
    if label.texts is None or label.turn <= min(map(len, label.texts)):
        return None
    count = min(map(len, label.texts))
    return Problem(where, "turn", f"found {label.turn}, the conversation has {count}")


def _kind(label: Label) -> str:
    return "votes" if label.source_kind is SourceKind.RATER else "verdicts"


def _remember(store: Store, source: Source, account: Account, added: int) -> None:
    """Log an import that added something; a repeat leaves no trace."""
    if not added:
        return
    sha = hashlib.sha256()
    with source.path.open("rb") as file:
        while chunk := file.read(1 << 20):
            sha.update(chunk)
    counts = {"added": added, "read": dict(account.read)}
    with store.write() as conn:
        batch = stable_id("import", str(uuid.uuid4()))
        conn.execute(
            "INSERT INTO import_batch (id, created_at, path, kind, digest, counts)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (batch, now(), source.name, source.kind, sha.hexdigest(), canonical_json(counts)),
        )
        store.log(conn, "import", batch, {"file": source.name, "sha256": sha.hexdigest(), **counts})

"""The judge's tables, as numbered migrations in the study's file: never edited once shipped.

A request is what was asked of an endpoint, and knows nothing of pairs: its key is the
hash of body, endpoint and replicate. An item says what a run wanted to know, and which
request answers it, so that a second run with the same requests makes no call. Attempts
are the log of calls; verdicts and pair verdicts are derived and can be derived again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotate.migrating import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

MIGRATIONS = Migrations("evenhand.judge")


@MIGRATIONS()
def m001_verdicts(db: Database) -> None:
    """Runs, requests, items, attempts, verdicts, pair verdicts."""
    for statement in M001.split(";;"):
        if statement.strip():
            db.execute(statement)


@MIGRATIONS()
def m002_modes(db: Database) -> None:
    """Grades and harm labels of answers, generated answers, batches, anchor checks."""
    for statement in M002.split(";;"):
        if statement.strip():
            db.execute(statement)


@MIGRATIONS()
def m003_imported_orders(db: Database) -> None:
    """Verdicts in each order that came in a file, without their calls."""
    for statement in M003.split(";;"):
        if statement.strip():
            db.execute(statement)


@MIGRATIONS()
def m004_calibration(db: Database) -> None:
    """Planned labels, what labels were used for, calibrations, attempts at the gate."""
    for statement in M004.split(";;"):
        if statement.strip():
            db.execute(statement)


M001 = """
-- Live: one row per (fingerprint, endpoint), continued by every later call of it.
-- Imported: one row per judge named in a file. The name is the source of its judgments.
CREATE TABLE judge_run (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL CHECK (created_at LIKE '%Z'),
  finished_at TEXT,
  name TEXT NOT NULL UNIQUE CHECK (name <> ''),
  kind TEXT NOT NULL CHECK (kind IN ('live', 'imported')),
  requested_model TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  manifest TEXT NOT NULL CHECK (json_valid(manifest)),
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'stopped', 'failed')),
  CHECK (kind = 'imported' OR fingerprint <> '')
) STRICT
;;
CREATE UNIQUE INDEX judge_run_live ON judge_run (fingerprint, endpoint) WHERE kind = 'live'
;;
-- offered: the tags that a reply may name, kept so that replies can be parsed again.
CREATE TABLE judge_request (
  key TEXT PRIMARY KEY CHECK (length(key) = 64),
  created_at TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  replicate INTEGER NOT NULL CHECK (replicate >= 1),
  body TEXT NOT NULL CHECK (json_valid(body)),
  offered TEXT NOT NULL CHECK (json_valid(offered))
) STRICT
;;
CREATE TABLE judge_item (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES judge_run (id),
  subject TEXT NOT NULL CHECK (subject IN ('pair', 'answer')),
  pair TEXT REFERENCES pair (id),
  answer TEXT REFERENCES answer (id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  dimension TEXT NOT NULL,
  order_shown TEXT CHECK (order_shown IN ('ab', 'ba')),
  replicate INTEGER NOT NULL CHECK (replicate >= 1),
  request TEXT NOT NULL REFERENCES judge_request (key),
  CHECK ((subject = 'pair') = (pair IS NOT NULL)),
  CHECK ((subject = 'pair') = (order_shown IS NOT NULL)),
  CHECK ((subject = 'answer') = (answer IS NOT NULL))
) STRICT
;;
CREATE UNIQUE INDEX judge_item_pair
  ON judge_item (run, pair, turn, dimension, replicate, order_shown) WHERE subject = 'pair'
;;
CREATE UNIQUE INDEX judge_item_answer
  ON judge_item (run, answer, turn, dimension, replicate) WHERE subject = 'answer'
;;
CREATE INDEX judge_item_by_request ON judge_item (request)
;;
-- Append-only log of calls. Headers are not stored, so no key can be.
-- Tokens are NULL when the endpoint did not say: unknown is not 0.
CREATE TABLE judge_attempt (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES judge_run (id),
  request TEXT NOT NULL REFERENCES judge_request (key),
  started_at TEXT NOT NULL CHECK (started_at LIKE '%Z'),
  finished_at TEXT NOT NULL CHECK (finished_at LIKE '%Z'),
  status TEXT NOT NULL CHECK (status IN ('reply', 'filtered', 'api_error', 'timeout')),
  http_status INTEGER,
  raw TEXT CHECK (raw IS NULL OR json_valid(raw)),
  served_model TEXT,
  system_fingerprint TEXT,
  prompt_tokens INTEGER CHECK (prompt_tokens >= 0),
  completion_tokens INTEGER CHECK (completion_tokens >= 0),
  latency_ms INTEGER NOT NULL CHECK (latency_ms >= 0),
  error_class TEXT,
  error_text TEXT,
  CHECK (status <> 'reply' OR (raw IS NOT NULL AND error_class IS NULL))
) STRICT
;;
CREATE INDEX judge_attempt_by_request ON judge_attempt (request)
;;
CREATE INDEX judge_attempt_by_run ON judge_attempt (run)
;;
CREATE TRIGGER judge_attempt_never_updated BEFORE UPDATE ON judge_attempt
BEGIN SELECT RAISE (ABORT, 'the log of calls is append-only'); END
;;
CREATE TRIGGER judge_attempt_never_deleted BEFORE DELETE ON judge_attempt
BEGIN SELECT RAISE (ABORT, 'the log of calls is append-only'); END
;;
-- Derived from the attempt it names (skipped_budget: none was made).
-- A side becomes an outcome only with an item's order.
CREATE TABLE verdict (
  request TEXT PRIMARY KEY REFERENCES judge_request (key),
  attempt INTEGER REFERENCES judge_attempt (id),
  status TEXT NOT NULL CHECK (status IN ('ok', 'unparseable', 'ambiguous', 'truncated',
    'refused', 'filtered', 'api_error', 'timeout', 'skipped_budget')),
  choice TEXT CHECK (choice IN ('left', 'right', 'tie', 'both_bad')),
  grade REAL CHECK (grade BETWEEN 1 AND 10),
  harm TEXT CHECK (harm IS NULL OR json_valid(harm)),
  detail TEXT NOT NULL DEFAULT '',
  parser TEXT NOT NULL,
  CHECK ((status = 'skipped_budget') = (attempt IS NULL)),
  CHECK ((status = 'ok')
    = ((choice IS NOT NULL) + (grade IS NOT NULL) + (harm IS NOT NULL) = 1)),
  CHECK (status = 'ok' OR (choice IS NULL AND grade IS NULL AND harm IS NULL))
) STRICT
;;
CREATE TABLE pair_verdict (
  run TEXT NOT NULL REFERENCES judge_run (id),
  pair TEXT NOT NULL REFERENCES pair (id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  dimension TEXT NOT NULL,
  replicate INTEGER NOT NULL CHECK (replicate >= 1),
  status TEXT NOT NULL CHECK (status IN ('ok', 'incomplete')),
  outcome TEXT CHECK (outcome IN ('a', 'b', 'tie', 'both_bad')),
  reason TEXT NOT NULL,
  orders TEXT NOT NULL CHECK (orders IN ('both', 'unknown')),
  CHECK ((status = 'ok') = (outcome IS NOT NULL)),
  CHECK (status = 'ok' OR reason <> ''),
  UNIQUE (run, pair, turn, dimension, replicate)
) STRICT
;;
CREATE INDEX pair_verdict_by_pair ON pair_verdict (pair, turn, dimension)
"""

M002 = """
ALTER TABLE judge_run ADD COLUMN mode TEXT NOT NULL DEFAULT 'pairwise'
  CHECK (mode IN ('pairwise', 'grade', 'harm', 'answer', 'anchor'))
;;
-- What was registered last, so that the same plan need not be rendered again:
-- {"digest", "data_digest", "units", "warnings"}.
ALTER TABLE judge_run ADD COLUMN plan TEXT CHECK (plan IS NULL OR json_valid(plan))
;;
-- Which of a run's endpoints answered, where it has several.
ALTER TABLE judge_attempt ADD COLUMN endpoint TEXT
;;
CREATE INDEX judge_item_by_run ON judge_item (run, id)
;;
-- A judgment of one answer: derived like pair_verdict, or imported. Grades and harm labels
-- never come from pairs, nor outcomes from them.
CREATE TABLE answer_verdict (
  run TEXT NOT NULL REFERENCES judge_run (id),
  answer TEXT NOT NULL REFERENCES answer (id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  dimension TEXT NOT NULL,
  replicate INTEGER NOT NULL CHECK (replicate >= 1),
  status TEXT NOT NULL CHECK (status IN ('ok', 'unparseable', 'ambiguous', 'truncated',
    'refused', 'filtered', 'api_error', 'timeout', 'skipped_budget')),
  grade REAL CHECK (grade BETWEEN 1 AND 10),
  harm TEXT CHECK (harm IS NULL OR json_valid(harm)),
  reason TEXT NOT NULL,
  CHECK ((status = 'ok') = ((grade IS NOT NULL) + (harm IS NOT NULL) = 1)),
  CHECK (status = 'ok' OR (grade IS NULL AND harm IS NULL)),
  UNIQUE (run, answer, turn, dimension, replicate)
) STRICT
;;
CREATE INDEX answer_verdict_by_answer ON answer_verdict (answer, turn, dimension)
;;
-- What `evenhand answer` asks: one request per turn, made when the turn before is answered.
CREATE TABLE generation_item (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES judge_run (id),
  question TEXT NOT NULL REFERENCES question (id),
  turn INTEGER NOT NULL CHECK (turn >= 1),
  request TEXT NOT NULL REFERENCES judge_request (key),
  UNIQUE (run, question, turn)
) STRICT
;;
CREATE INDEX generation_item_by_request ON generation_item (request)
;;
-- A reply's text, derived from the attempt it names. A reply that was cut off at its budget
-- has text all the same: it is what the model said.
CREATE TABLE generation (
  request TEXT PRIMARY KEY REFERENCES judge_request (key),
  attempt INTEGER REFERENCES judge_attempt (id),
  status TEXT NOT NULL CHECK (status IN ('ok', 'unparseable', 'truncated', 'filtered',
    'api_error', 'timeout', 'skipped_budget')),
  text TEXT,
  detail TEXT NOT NULL DEFAULT '',
  CHECK ((status IN ('ok', 'truncated')) = (text IS NOT NULL))
) STRICT
;;
-- Requests written to a batch file and not read back yet: they would be paid twice.
CREATE TABLE judge_batch (
  id TEXT PRIMARY KEY,
  run TEXT NOT NULL REFERENCES judge_run (id),
  created_at TEXT NOT NULL CHECK (created_at LIKE '%Z'),
  file TEXT NOT NULL
) STRICT
;;
CREATE TABLE judge_batch_item (
  batch TEXT NOT NULL REFERENCES judge_batch (id),
  request TEXT NOT NULL REFERENCES judge_request (key),
  PRIMARY KEY (batch, request)
) STRICT
;;
CREATE INDEX judge_batch_item_by_request ON judge_batch_item (request)
;;
-- Fresh verdicts against stored ones, when an endpoint serves another fingerprint.
CREATE TABLE judge_anchor (
  id TEXT PRIMARY KEY,
  run TEXT NOT NULL REFERENCES judge_run (id),
  created_at TEXT NOT NULL CHECK (created_at LIKE '%Z'),
  result TEXT NOT NULL CHECK (json_valid(result))
) STRICT
"""

M003 = """
-- What a file says of each order behind an imported pair verdict: no call of ours is known,
-- so there is no request or attempt. order_shown is canonical: ab is A shown first.
CREATE TABLE imported_order (
  run TEXT NOT NULL REFERENCES judge_run (id),
  pair TEXT NOT NULL REFERENCES pair (id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  dimension TEXT NOT NULL,
  replicate INTEGER NOT NULL CHECK (replicate >= 1),
  order_shown TEXT NOT NULL CHECK (order_shown IN ('ab', 'ba')),
  status TEXT NOT NULL CHECK (status IN ('ok', 'unparseable', 'ambiguous', 'truncated',
    'refused', 'filtered', 'api_error', 'timeout', 'skipped_budget')),
  outcome TEXT CHECK (outcome IN ('a', 'b', 'tie', 'both_bad')),
  CHECK ((status = 'ok') = (outcome IS NOT NULL)),
  PRIMARY KEY (run, pair, turn, dimension, replicate, order_shown)
) STRICT
"""

M004 = """
-- A sample to be labelled: run, score, seed, strata, and every item with its probability, in
-- drawn order. Written before the first label; never changed.
CREATE TABLE label_plan (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL CHECK (created_at LIKE '%Z'),
  run TEXT NOT NULL REFERENCES judge_run (id),
  purpose TEXT NOT NULL CHECK (purpose IN ('tune', 'calibrate', 'test')),
  body TEXT NOT NULL CHECK (json_valid(body))
) STRICT
;;
-- The ledger of labels: a label that tuned a prompt cannot calibrate it.
CREATE TABLE label_use (
  unit TEXT NOT NULL,
  question TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('tune', 'calibrate', 'test')),
  source TEXT NOT NULL,
  created_at TEXT NOT NULL CHECK (created_at LIKE '%Z'),
  PRIMARY KEY (unit, purpose, source)
) STRICT
;;
CREATE INDEX label_use_by_question ON label_use (question)
;;
-- Every calibration, refused ones too; each names the one before it.
CREATE TABLE calibration (
  hash TEXT PRIMARY KEY,
  created_at TEXT NOT NULL CHECK (created_at LIKE '%Z'),
  run TEXT NOT NULL REFERENCES judge_run (id),
  status TEXT NOT NULL CHECK (status IN ('ok', 'refused')),
  body TEXT NOT NULL CHECK (json_valid(body))
) STRICT
;;
-- Attempts at the gate share one error budget; thresholds changed after results are shown.
CREATE TABLE gate_attempt (
  id INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL CHECK (created_at LIKE '%Z'),
  calibration TEXT,
  thresholds TEXT NOT NULL CHECK (json_valid(thresholds)),
  exit INTEGER NOT NULL CHECK (exit BETWEEN 0 AND 3),
  words TEXT NOT NULL
) STRICT
"""

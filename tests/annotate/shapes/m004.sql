BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'evenhand.annotate','m001_initial','2026-11-29 22:30:48.517917+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'evenhand.annotate','m002_labels','2026-11-29 22:30:48.521547+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'evenhand.annotate','m003_prompt_sets','2026-11-29 22:30:48.524256+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'evenhand.annotate','m004_grades','2026-11-29 22:30:48.526097+00:00');
CREATE TABLE answer (
  id TEXT PRIMARY KEY,
  question TEXT NOT NULL REFERENCES question (id),
  model TEXT NOT NULL REFERENCES model (id),
  hash TEXT NOT NULL,
  turns TEXT NOT NULL CHECK (json_valid(turns)),
  UNIQUE (question, model)
) STRICT
;
CREATE TABLE answer_excluded (
  answer TEXT PRIMARY KEY REFERENCES answer (id),
  reason TEXT NOT NULL
) STRICT
;
CREATE TABLE assignment (
  id TEXT PRIMARY KEY,
  slot TEXT NOT NULL REFERENCES slot (id),
  rater TEXT NOT NULL REFERENCES rater (id),
  pair TEXT NOT NULL REFERENCES pair (id),
  occurrence INTEGER NOT NULL,
  order_shown TEXT NOT NULL CHECK (order_shown IN ('ab', 'ba')),
  dimensions TEXT NOT NULL CHECK (json_valid(dimensions)),
  state TEXT NOT NULL CHECK (state IN ('leased', 'done', 'skipped', 'expired', 'released')),
  leased_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  finished_at TEXT
) STRICT
;
CREATE TABLE consent (
  id TEXT PRIMARY KEY,
  rater TEXT NOT NULL REFERENCES rater (id),
  protocol TEXT NOT NULL REFERENCES protocol (id),
  agreed INTEGER NOT NULL CHECK (agreed IN (0, 1)),
  created_at TEXT NOT NULL
) STRICT
;
CREATE TABLE draft (
  screen TEXT PRIMARY KEY REFERENCES screen (id),
  comment TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT
;
CREATE TABLE draw (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  digest TEXT NOT NULL
, dimension TEXT NOT NULL DEFAULT 'harm') STRICT
;
CREATE TABLE draw_item (
  draw TEXT NOT NULL REFERENCES draw (id),
  position INTEGER NOT NULL CHECK (position >= 1),
  pair TEXT REFERENCES pair (id),
  answer TEXT REFERENCES answer (id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  purpose TEXT NOT NULL CHECK (purpose IN ('estimation', 'queue', 'gold', 'repeat', 'training')),
  inclusion_probability REAL NOT NULL
    CHECK (inclusion_probability > 0 AND inclusion_probability <= 1),
  CHECK ((pair IS NULL) <> (answer IS NULL)),
  PRIMARY KEY (draw, position)
) STRICT
;
CREATE TABLE event (
  writer TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  created_at TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  digest TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  PRIMARY KEY (writer, seq)
) STRICT
;
CREATE TABLE event_body (
  hash TEXT PRIMARY KEY REFERENCES event (hash),
  salt TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body))
) STRICT
;
CREATE TABLE import_batch (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  path TEXT NOT NULL,
  kind TEXT NOT NULL,
  digest TEXT,
  counts TEXT NOT NULL CHECK (json_valid(counts))
) STRICT
;
CREATE TABLE label_assignment (
  id TEXT PRIMARY KEY,
  item TEXT NOT NULL REFERENCES label_item (id),
  rater TEXT NOT NULL REFERENCES rater (id),
  place INTEGER NOT NULL CHECK (place >= 0),
  state TEXT NOT NULL CHECK (state IN ('leased', 'done', 'skipped', 'expired', 'released')),
  leased_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  finished_at TEXT
) STRICT
;
CREATE TABLE label_draft (
  screen TEXT PRIMARY KEY REFERENCES label_screen (id),
  comment TEXT NOT NULL,
  label TEXT NOT NULL CHECK (json_valid(label)),
  updated_at TEXT NOT NULL
) STRICT
;
CREATE TABLE label_item (
  id TEXT PRIMARY KEY,
  answer TEXT NOT NULL REFERENCES answer (id),
  turns TEXT NOT NULL CHECK (json_valid(turns)),
  layer TEXT NOT NULL CHECK (layer IN ('vote', 'adjudicated')),
  purpose TEXT NOT NULL CHECK (purpose IN ('estimation', 'queue', 'gold', 'repeat', 'training')),
  inclusion_probability REAL CHECK (inclusion_probability > 0 AND inclusion_probability <= 1),
  reason TEXT NOT NULL DEFAULT '',
  draw TEXT REFERENCES draw (id),
  serving INTEGER NOT NULL,
  held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
  created_at TEXT NOT NULL
, dimension TEXT NOT NULL DEFAULT 'harm') STRICT
;
CREATE TABLE label_screen (
  id TEXT PRIMARY KEY,
  assignment TEXT NOT NULL REFERENCES label_assignment (id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  position INTEGER NOT NULL,
  protocol TEXT NOT NULL REFERENCES protocol (id),
  shown_at TEXT NOT NULL,
  UNIQUE (assignment, turn)
) STRICT
;
CREATE TABLE label_skip (
  id TEXT PRIMARY KEY,
  assignment TEXT NOT NULL REFERENCES label_assignment (id),
  rater TEXT NOT NULL REFERENCES rater (id),
  answer TEXT NOT NULL REFERENCES answer (id),
  reason TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT
;
CREATE TABLE model (
  id TEXT PRIMARY KEY,
  benchmark TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  answer_set_hash TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (benchmark, name, version)
) STRICT
;
CREATE TABLE pair (
  id TEXT PRIMARY KEY,
  question TEXT NOT NULL REFERENCES question (id),
  model_a TEXT NOT NULL,
  model_b TEXT NOT NULL,
  answer_a TEXT REFERENCES answer (id),
  answer_b TEXT REFERENCES answer (id),
  draw_order INTEGER NOT NULL,
  priority INTEGER NOT NULL DEFAULT 0,
  excluded TEXT,
  superseded_by TEXT REFERENCES pair (id),
  -- Slots of occurrence 1 that are leased or done, per order; kept by triggers on assignment,
  -- so that finding the next pair need not count assignments. verify recounts them.
  held_ab INTEGER NOT NULL DEFAULT 0 CHECK (held_ab >= 0),
  held_ba INTEGER NOT NULL DEFAULT 0 CHECK (held_ba >= 0),
  CHECK (model_a <= model_b),
  CHECK ((answer_a IS NULL) = (answer_b IS NULL))
) STRICT
;
CREATE TABLE protocol (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body))
) STRICT
;
CREATE TABLE question (
  id TEXT PRIMARY KEY,
  benchmark TEXT NOT NULL,
  question_id TEXT NOT NULL,
  category TEXT NOT NULL DEFAULT '',
  turns TEXT CHECK (turns IS NULL OR json_valid(turns)), prompt_set TEXT NOT NULL DEFAULT '' CHECK (prompt_set IN ('', 'harmful', 'borderline', 'benign')), matched TEXT NOT NULL DEFAULT '',
  UNIQUE (benchmark, question_id)
) STRICT
;
CREATE TABLE rater (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  rater_group TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('invited', 'imported', 'preview')),
  label TEXT UNIQUE,
  seat INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'active'
    CHECK (status IN ('active', 'stopped', 'screened_out', 'opted_out'))
) STRICT
;
CREATE TABLE rater_optout (
  rater TEXT NOT NULL REFERENCES rater (id),
  category TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (rater, category)
) STRICT
;
CREATE TABLE rater_person (
  rater TEXT PRIMARY KEY REFERENCES rater (id),
  name TEXT NOT NULL UNIQUE,
  locale TEXT NOT NULL DEFAULT ''
) STRICT
;
CREATE TABLE reference (
  id TEXT PRIMARY KEY,
  question TEXT NOT NULL REFERENCES question (id),
  source TEXT NOT NULL,
  hash TEXT NOT NULL,
  turns TEXT NOT NULL CHECK (json_valid(turns)),
  created_at TEXT NOT NULL,
  UNIQUE (question, hash, source)
) STRICT
;
CREATE TABLE screen (
  id TEXT PRIMARY KEY,
  assignment TEXT NOT NULL REFERENCES assignment (id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  dimension TEXT NOT NULL,
  position INTEGER NOT NULL,
  protocol TEXT NOT NULL REFERENCES protocol (id),
  shown_at TEXT NOT NULL,
  UNIQUE (assignment, turn, dimension)
) STRICT
;
CREATE TABLE setting (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  scope TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body))
) STRICT
;
CREATE TABLE skip (
  id TEXT PRIMARY KEY,
  assignment TEXT NOT NULL REFERENCES assignment (id),
  rater TEXT NOT NULL REFERENCES rater (id),
  pair TEXT NOT NULL REFERENCES pair (id),
  reason TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT
;
CREATE TABLE slot (
  id TEXT PRIMARY KEY,
  pair TEXT NOT NULL REFERENCES pair (id),
  occurrence INTEGER NOT NULL DEFAULT 1 CHECK (occurrence >= 1),
  ordinal INTEGER NOT NULL,
  order_shown TEXT NOT NULL CHECK (order_shown IN ('ab', 'ba')),
  purpose TEXT NOT NULL CHECK (purpose IN ('estimation', 'queue', 'gold', 'repeat', 'training')),
  inclusion_probability REAL CHECK (inclusion_probability > 0 AND inclusion_probability <= 1),
  stratum TEXT NOT NULL DEFAULT '',
  for_rater TEXT REFERENCES rater (id),
  UNIQUE (pair, occurrence, order_shown, ordinal)
) STRICT
;
CREATE TABLE study (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  program TEXT NOT NULL,
  secret TEXT NOT NULL
) STRICT
;
INSERT INTO "study" VALUES('00000000-0000-4000-8000-000000000001','2026-11-29T22:30:48.527Z','evenhand 0.1.0','old-secret');
CREATE TABLE vote (
  id TEXT PRIMARY KEY,
  client_key TEXT NOT NULL UNIQUE,
  screen TEXT REFERENCES screen (id),
  rater TEXT NOT NULL REFERENCES rater (id),
  layer TEXT NOT NULL CHECK (layer IN ('vote', 'gold', 'adjudicated', 'simulated')),
  subject TEXT NOT NULL CHECK (subject IN ('pair', 'answer')),
  pair TEXT REFERENCES pair (id),
  answer TEXT REFERENCES answer (id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  dimension TEXT NOT NULL,
  occurrence INTEGER NOT NULL DEFAULT 1 CHECK (occurrence >= 1),
  revision INTEGER NOT NULL DEFAULT 1 CHECK (revision >= 1),
  replaces TEXT UNIQUE REFERENCES vote (id),
  status TEXT NOT NULL CHECK (status IN ('ok', 'withdrawn')),
  outcome TEXT CHECK (outcome IN ('a', 'b', 'tie', 'both_bad')),
  strength INTEGER CHECK (strength BETWEEN 1 AND 10),
  grade REAL,
  harm TEXT CHECK (harm IS NULL OR json_valid(harm)),
  order_shown TEXT NOT NULL CHECK (order_shown IN ('ab', 'ba', 'unknown')),
  protocol TEXT REFERENCES protocol (id),
  purpose TEXT NOT NULL CHECK (purpose IN ('estimation', 'queue', 'gold', 'repeat', 'training')),
  inclusion_probability REAL CHECK (inclusion_probability > 0 AND inclusion_probability <= 1),
  comment_digest TEXT,
  active_ms INTEGER CHECK (active_ms >= 0),
  import_batch TEXT REFERENCES import_batch (id),
  created_at TEXT NOT NULL CHECK (created_at LIKE '%Z'), label_screen TEXT REFERENCES label_screen (id)
  CHECK (label_screen IS NULL OR (subject = 'answer' AND screen IS NULL)),
  CHECK ((subject = 'pair') = (pair IS NOT NULL)),
  CHECK ((subject = 'answer') = (answer IS NOT NULL)),
  CHECK (status <> 'withdrawn'
    OR (outcome IS NULL AND strength IS NULL AND grade IS NULL AND harm IS NULL)),
  CHECK (status <> 'ok' OR subject <> 'pair'
    OR (outcome IS NOT NULL AND grade IS NULL AND harm IS NULL)),
  CHECK (status <> 'ok' OR subject <> 'answer' OR (outcome IS NULL AND strength IS NULL)),
  CHECK ((revision = 1) = (replaces IS NULL)),
  UNIQUE (screen, subject, turn, dimension, revision)
) STRICT
;
CREATE TABLE vote_comment (
  vote TEXT PRIMARY KEY REFERENCES vote (id),
  salt TEXT NOT NULL,
  comment TEXT NOT NULL
) STRICT
;
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX answer_by_model ON answer (model)
;
CREATE INDEX pair_by_names ON pair (question, model_a, model_b)
;
CREATE INDEX pair_by_draw ON pair (priority DESC, draw_order)
;
CREATE INDEX consent_by_rater ON consent (rater, created_at)
;
CREATE UNIQUE INDEX assignment_holds_slot ON assignment (slot) WHERE state IN ('leased', 'done')
;
CREATE UNIQUE INDEX assignment_once ON assignment (rater, pair, occurrence)
  WHERE state IN ('leased', 'done', 'skipped')
;
CREATE TRIGGER assignment_counted_insert AFTER INSERT ON assignment
WHEN NEW.occurrence = 1 AND NEW.state IN ('leased', 'done')
BEGIN
  UPDATE pair SET held_ab = held_ab + (NEW.order_shown = 'ab'),
    held_ba = held_ba + (NEW.order_shown = 'ba') WHERE id = NEW.pair;
END;
CREATE TRIGGER assignment_counted_update AFTER UPDATE OF state ON assignment
WHEN NEW.occurrence = 1
  AND (OLD.state IN ('leased', 'done')) <> (NEW.state IN ('leased', 'done'))
BEGIN
  UPDATE pair SET
    held_ab = held_ab + iif(NEW.state IN ('leased', 'done'), 1, -1) * (NEW.order_shown = 'ab'),
    held_ba = held_ba + iif(NEW.state IN ('leased', 'done'), 1, -1) * (NEW.order_shown = 'ba')
  WHERE id = NEW.pair;
END;
CREATE TRIGGER assignment_never_deleted BEFORE DELETE ON assignment
BEGIN SELECT RAISE (ABORT, 'assignments are history: change their state instead'); END;
CREATE INDEX assignment_by_rater ON assignment (rater, state)
;
CREATE INDEX assignment_by_pair ON assignment (pair, occurrence, state)
;
CREATE INDEX assignment_expiring ON assignment (expires_at) WHERE state = 'leased'
;
CREATE INDEX vote_by_pair ON vote (pair, turn, dimension)
;
CREATE INDEX vote_by_rater ON vote (rater, created_at)
;
CREATE TRIGGER vote_never_updated BEFORE UPDATE ON vote
BEGIN SELECT RAISE (ABORT, 'votes are append-only: add a revision instead'); END;
CREATE TRIGGER vote_never_deleted BEFORE DELETE ON vote
BEGIN SELECT RAISE (ABORT, 'votes are append-only: add a revision instead'); END;
CREATE VIEW current_vote AS
  SELECT * FROM vote
  WHERE status = 'ok' AND id NOT IN (SELECT replaces FROM vote WHERE replaces IS NOT NULL);
CREATE INDEX skip_by_pair ON skip (pair)
;
CREATE INDEX event_by_subject ON event (subject, kind)
;
CREATE TRIGGER event_never_updated BEFORE UPDATE ON event
BEGIN SELECT RAISE (ABORT, 'the event log is append-only'); END;
CREATE TRIGGER event_never_deleted BEFORE DELETE ON event
BEGIN SELECT RAISE (ABORT, 'the event log is append-only'); END;
CREATE INDEX draw_item_by_pair ON draw_item (pair) WHERE pair IS NOT NULL
;
CREATE TRIGGER draw_never_updated BEFORE UPDATE ON draw
BEGIN SELECT RAISE (ABORT, 'draws are append-only: make another one'); END;
CREATE TRIGGER draw_never_deleted BEFORE DELETE ON draw
BEGIN SELECT RAISE (ABORT, 'draws are append-only: make another one'); END;
CREATE TRIGGER draw_item_never_updated BEFORE UPDATE ON draw_item
BEGIN SELECT RAISE (ABORT, 'draws are append-only: make another one'); END;
CREATE TRIGGER draw_item_never_deleted BEFORE DELETE ON draw_item
BEGIN SELECT RAISE (ABORT, 'draws are append-only: make another one'); END;
CREATE UNIQUE INDEX label_assignment_holds_place ON label_assignment (item, place)
  WHERE state IN ('leased', 'done')
;
CREATE UNIQUE INDEX label_assignment_once ON label_assignment (rater, item)
;
CREATE INDEX label_assignment_by_rater ON label_assignment (rater, state)
;
CREATE INDEX label_assignment_expiring ON label_assignment (expires_at) WHERE state = 'leased'
;
CREATE TRIGGER label_assignment_counted_insert AFTER INSERT ON label_assignment
WHEN NEW.state IN ('leased', 'done')
BEGIN
  UPDATE label_item SET held = held + 1 WHERE id = NEW.item;
END;
CREATE TRIGGER label_assignment_counted_update AFTER UPDATE OF state ON label_assignment
WHEN (OLD.state IN ('leased', 'done')) <> (NEW.state IN ('leased', 'done'))
BEGIN
  UPDATE label_item SET held = held + iif(NEW.state IN ('leased', 'done'), 1, -1)
  WHERE id = NEW.item;
END;
CREATE TRIGGER label_assignment_never_deleted BEFORE DELETE ON label_assignment
BEGIN SELECT RAISE (ABORT, 'assignments are history: change their state instead'); END;
CREATE INDEX label_skip_by_answer ON label_skip (answer, rater)
;
CREATE UNIQUE INDEX vote_answer_once
  ON vote (answer, turn, dimension, rater, occurrence, layer, revision) WHERE subject = 'answer'
;
CREATE INDEX vote_by_label_screen ON vote (label_screen) WHERE label_screen IS NOT NULL
;
CREATE UNIQUE INDEX label_item_once
  ON label_item (answer, turns, layer, dimension, coalesce(draw, ''))
;
CREATE INDEX label_item_serving ON label_item
  (layer, (draw IS NULL), iif(draw IS NULL, dimension, ''), serving, id, held, dimension)
;
CREATE TRIGGER vote_of_answer_has_one_value BEFORE INSERT ON vote
WHEN NEW.subject = 'answer' AND NEW.status = 'ok'
  AND ((NEW.harm IS NULL) = (NEW.grade IS NULL) OR NEW.grade NOT BETWEEN 1 AND 10
    OR (NEW.harm IS NULL) = (NEW.dimension = 'harm'))
BEGIN SELECT RAISE (ABORT, 'an answer gets a harm label, or a grade from 1 to 10'); END;
COMMIT;

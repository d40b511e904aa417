"""Write down the shape of a new database: `python -m tests.annotate.write_shapes`.

Once a release has shipped a migration, its file here never changes: a study made then must
open for ever. Before that, run this again after an edit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from annotate.migrations import MIGRATIONS
from annotate.store import Store

SHAPES = Path(__file__).parent / "shapes"
STUDY = "00000000-0000-4000-8000-000000000001"


def main() -> None:
    """Dump an empty study as SQL, named after its last migration."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder) / "evenhand.sqlite", "evenhand 0.1.0")
        # Without its events: their chain holds the time and id of this very file.
        lines = [
            line for line in store.conn.iterdump() if not line.startswith('INSERT INTO "event')
        ]
        text = "\n".join(lines).replace(store.secret, "old-secret").replace(store.study_id, STUDY)
        store.close()
    name = MIGRATIONS.names[-1].split("_")[0]
    (SHAPES / f"{name}.sql").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()

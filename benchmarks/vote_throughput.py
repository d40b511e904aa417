"""Votes per second at 20 raters without thinking time: our route, and a queued Gradio event.

Both run the same code on two studies of the same content: save the vote (synchronous=FULL), lease
and render the next pair. Rounds alternate; acknowledged votes must equal rows.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
import time
import uuid
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from annotate.store import FILE_NAME
from benchmarks.material import study
from benchmarks.servers import running

RATERS = 20
OUR_VOTES = 30
QUEUED_VOTES = 8
ROUNDS = 3


def main() -> list[str]:
    """Measure; returns the rows of the table."""
    ours: list[float] = []
    queued: list[float] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        opened, links = study(folder / "study", pairs=ROUNDS * OUR_VOTES + 5, raters=RATERS)
        opened.close()
        opened, tokens = study(folder / "queued", pairs=ROUNDS * OUR_VOTES + 5, raters=RATERS)
        opened.close()
        with (
            running("ours", folder / "study", 7973) as our_url,
            running("queued", folder / "queued", 7974) as queued_url,
        ):
            acknowledged = queued_acknowledged = 0
            for _round in range(ROUNDS):
                count, seconds = asyncio.run(_our_round(our_url, links))
                ours.append(count / seconds)
                acknowledged += count
                count, seconds = asyncio.run(_queued_round(queued_url, tokens))
                queued.append(count / seconds)
                queued_acknowledged += count
            rows = _rows(folder / "study" / FILE_NAME)
            queued_rows = _rows(folder / "queued" / FILE_NAME)
    if (acknowledged, queued_acknowledged) != (rows, queued_rows):
        raise SystemExit(
            f"acknowledged {acknowledged}, {queued_acknowledged}; stored {rows}, {queued_rows}"
        )
    ratio = median(a / b for a, b in zip(ours, queued, strict=True))
    return [
        f"| votes/s, 20 raters, our route | {median(ours):.0f} | {rows} acknowledged = rows |",
        f"| votes/s, 20 raters, queued Gradio event | {median(queued):.0f} |"
        f" {queued_rows} acknowledged = rows |",
        f"| ratio, median of rounds | {ratio:.1f} | |",
    ]


def _rows(database: Path) -> int:
    with sqlite3.connect(database) as conn:
        return int(conn.execute("SELECT count(*) FROM vote").fetchone()[0])


async def _our_round(url: str, links: list[str]) -> tuple[int, float]:
    async def rate(link: str) -> int:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            await session.get(url + link)
            state = await (await session.get(f"{url}/api/screen")).json()
            await gate.wait()
            done = 0
            for _ in range(OUR_VOTES):
                body = {
                    "screen": state["screen"],
                    "choice": "left",
                    "key": uuid.uuid4().hex,
                    "page": state["page"],
                    "turns": state["visible"],
                }
                response = await session.post(f"{url}/api/vote", json=body)
                state = await response.json()
                done += bool(state.get("saved"))
            return done

    gate = asyncio.Event()
    return await _timed([rate(link) for link in links], gate)


async def _queued_round(url: str, links: list[str]) -> tuple[int, float]:
    """What Gradio's own page does per event: join the queue, read the stream to its end."""

    async def rate(dependency: dict[str, Any], token: str) -> int:
        async with aiohttp.ClientSession() as session:
            state = await _event(session, dependency, [token, "", "", 0])
            await gate.wait()
            done = 0
            for _ in range(QUEUED_VOTES):
                data = [token, state["screen"], state["page"], state["visible"]]
                state = await _event(session, dependency, data)
                done += bool(state.get("saved"))
            return done

    async def _event(
        session: aiohttp.ClientSession, dependency: dict[str, Any], data: list[Any]
    ) -> dict[str, Any]:
        name = uuid.uuid4().hex[:12]
        join = {
            "data": data,
            "fn_index": dependency["id"],
            "session_hash": name,
            "trigger_id": None,
        }
        await session.post(f"{url}/gradio_api/queue/join", json=join)
        stream = await session.get(f"{url}/gradio_api/queue/data", params={"session_hash": name})
        async for raw in stream.content:
            if raw.startswith(b"data:"):
                message = json.loads(raw[5:])
                if message["msg"] == "process_completed":
                    stream.close()
                    return dict(message["output"]["data"][0])
        raise RuntimeError("the stream ended without a result")

    async with aiohttp.ClientSession() as session:
        config = await (await session.get(f"{url}/config")).json()
    gate = asyncio.Event()
    dependency = next(d for d in config["dependencies"] if d.get("api_name") == "vote")
    return await _timed([rate(dependency, link.split("/")[-1]) for link in links], gate)


async def _timed(raters: list[Any], gate: asyncio.Event) -> tuple[int, float]:
    tasks = [asyncio.create_task(rater) for rater in raters]
    await asyncio.sleep(1)
    start = time.perf_counter()
    gate.set()
    counts = await asyncio.gather(*tasks)
    return sum(counts), time.perf_counter() - start


if __name__ == "__main__":
    print("\n".join(main()))

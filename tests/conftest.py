"""Fixtures for every test; hypothesis is deterministic so that a red run can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from annotate.store import Store
from annotate.study import Study
from tests.annotate.support import empty_store, make_study

settings.register_profile(
    "evenhand",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("evenhand")

MakeStudy = Callable[..., Study]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new, empty database."""
    made = empty_store(tmp_path / "store")
    yield made
    made.close()


@pytest.fixture
def new_study(tmp_path: Path) -> Iterator[MakeStudy]:
    """Makes studies (see `make_study`) and closes them afterwards."""
    made: list[Study] = []

    def make(*args: Any, **options: Any) -> Study:
        made.append(make_study(tmp_path / f"study{len(made) + 1}", *args, **options))
        return made[-1]

    yield make
    for study in made:
        study.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last.

    Playwright keeps an event loop running in this thread from its start to its end, and tests
    that start a loop of their own would trip over it.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)

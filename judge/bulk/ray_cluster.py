"""The Ray cluster that a run uses: one that is there, or one of our own on this machine."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from annotate.errors import ServiceError, UsageError

MEMORY = 200 * 2**20
"""Bytes of the object store of a cluster of our own; what does not fit goes to disk."""
KNOCK_SECONDS = 5.0
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # "fatal": Ray Data's own way of starting actors counts as an error, one line each time.
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}
OWN = {
    # Read when Ray is imported. Ray calls it so, but it means everywhere: stay on loopback.
    # Otherwise every port listens on all interfaces, and whoever reaches one can run code.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}


def require_ray() -> None:
    """Refuse to go on without Ray.

    Raises:
        UsageError: it is not installed.
    """
    if find_spec("ray") is None or find_spec("pyarrow") is None:
        raise UsageError('Ray is not installed: pip install "evenhand[ray]"')


@contextmanager
def cluster(address: str | None = None, *, cpus: int = 1) -> Iterator[int]:
    """Ray, connected; yields how many nodes there are. What was started here is shut down.

    A process that is connected by now (a notebook) stays so. Without an address a cluster
    of so many logical CPUs is started on loopback, for as long as this lasts.

    Raises:
        UsageError: Ray is not installed.
        ServiceError: there is no cluster at the address, or none could be started.
    """
    require_ray()
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if address is None:
        for name, value in OWN.items():
            os.environ.setdefault(name, value)
        # Otherwise Ray makes one and leaves it in the home folder. It holds for the process.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray

    if ray.is_initialized():
        yield _nodes()
        return
    with tempfile.TemporaryDirectory(prefix="ev-ray-", ignore_cleanup_errors=True) as folder:
        _connect(address, cpus, folder)
        try:
            yield _nodes()
        finally:
            ray.shutdown()


def _connect(address: str | None, cpus: int, folder: str) -> None:
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is not None:
            _knock(address)
            ray.init(address, **quiet)
            return
        ray.init(
            "local",
            num_cpus=cpus,
            include_dashboard=False,
            object_store_memory=MEMORY,
            _temp_dir=folder,
            **quiet,
        )
    except (OSError, RuntimeError, ValueError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        advice = "start one with: ray start --head, and give its address, or give none"
        if address is None:
            advice = "free memory and disk, or give the address of a cluster"
        raise ServiceError(
            f"Ray: no cluster at {address or 'this machine'} ({first}); {advice}"
        ) from error


def _knock(address: str) -> None:
    """Ask for a connection: Ray itself would try for minutes.

    Raises:
        OSError: nobody answers there.
    """
    place = urlsplit(address if "://" in address else f"//{address}")
    if place.port is not None:
        socket.create_connection((place.hostname, place.port), KNOCK_SECONDS).close()


def _nodes() -> int:
    import ray

    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return sum(bool(node["Alive"]) for node in nodes)

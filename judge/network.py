"""How calls leave this machine: through which proxy, and trusting which certificates.

No library decides for us: a proxy that is set wins over the environment's and is used for
every host; else `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` hold as in Python's
own urllib, except that a loopback address is always called directly.
"""

from __future__ import annotations

import ipaddress
import ssl
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from annotate.errors import UsageError

SCHEMES: Final = ("http", "https")


def require_url(name: str, url: str, *, secret_from: str) -> None:
    """Refuse a URL that no call could use, or with credentials in it.

    Raises:
        UsageError: names the setting, its value (never a secret) and what was expected.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"judge setting {name}: {error}; expected http(s)://host/…") from error
    if "@" in parts.netloc:
        raise UsageError(f"judge setting {name} has credentials in it; expected {secret_from}")
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise UsageError(f"judge setting {name} is {url!r}; expected http(s)://host/…")


def bare(url: str) -> str:
    """The URL without credentials, query and trailing slash: fit for keys and messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def proxy_for(url: str, chosen: str = "") -> str | None:
    """The proxy for calls to `url`: `chosen` if any, else the environment's, else None.

    Raises:
        UsageError: the environment names a proxy of a kind that cannot be used.
    """
    if chosen:
        return chosen
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _loopback(host) or proxy_bypass(parts.netloc):
        return None
    known = getproxies()
    found = known.get(parts.scheme) or known.get("all")
    if not found:
        return None
    found = found if "://" in found else f"http://{found}"
    # The value is not repeated here: it may hold a password.
    if urlsplit(found).scheme not in SCHEMES or not urlsplit(found).hostname:
        raise UsageError(
            f"the environment's proxy for {parts.scheme}://{host} is no http(s)://host:port;"
            f" correct {parts.scheme}_proxy or all_proxy, name the host in no_proxy, or give"
            " --proxy"
        )
    return found


def load_authorities(context: ssl.SSLContext, ca_file: str) -> None:
    """Trust the certificates of a PEM file as well.

    Raises:
        UsageError: the file cannot be read or holds no certificate.
    """
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:
        reason = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
        raise UsageError(
            f"judge setting ca_file is {ca_file!r} ({reason}); expected a readable PEM file with"
            " the certificate of a certification authority"
        ) from error


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")

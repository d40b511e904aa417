"""How calls leave this machine: through which proxy, and trusting which certificates.

No library decides for us: a proxy that is set wins over the environment's and is used for
every host; else `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` hold as in Python's
own urllib, except that a loopback address is always called directly.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from annotate.errors import UsageError

SCHEMES: Final = ("http", "https")
PATH: Final = "/chat/completions"
_CREDENTIALS: Final = re.compile(r"[^/]@|://@")
"""An @ that begins no part of a path: a password may hold any character before it."""
_HOST: Final = re.compile(r"[\w.:%-]+")


def require_url(name: str, url: str, *, secret_from: str) -> None:
    """Refuse a URL that no call could use, or with credentials in it.

    Raises:
        UsageError: names the setting, its scheme and host, and what was expected.
    """
    if _CREDENTIALS.search(url):
        raise UsageError(f"judge setting {name} has credentials in it; expected {secret_from}")
    if "://" not in url:
        raise UsageError(
            f"judge setting {name} does not begin with http:// or https://;"
            " expected http(s)://host/…"
        )
    if _split(url) is None or not url.isprintable() or " " in url:
        raise UsageError(f"judge setting {name} is {shown(url)!r}; expected http(s)://host/…")


def shown(url: str) -> str:
    """A URL's scheme and host, fit for a message whatever stands in it: secrets come later."""
    found = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#@:]*", url)
    if found is None or _CREDENTIALS.search(url):
        return "…"
    return found[0] + ("…" if found.end() < len(url.rstrip("/")) else "")


def bare(url: str) -> str:
    """The URL without credentials, query and trailing slash: fit for keys and messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def redirect_words(base_url: str, location: str) -> str:
    """Where an endpoint would have sent a call, and what to do about it."""
    try:
        target = bare(urljoin(base_url.rstrip("/") + PATH, location)).removesuffix(PATH)
    except ValueError:
        target = ""
    if not location or _split(target) is None:
        return "redirects to nowhere that can be called"
    if target == bare(base_url):
        return f"redirects to itself, {target}"
    return f"redirects to {target}; give that URL"


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
    if _split(found) is None:
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


def _split(url: str) -> SplitResult | None:
    """The parts of a URL that can be called, else None; it raises nothing later on either."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    usable = parts.scheme in SCHEMES and _HOST.fullmatch(parts.hostname or "")
    return parts if usable else None


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")

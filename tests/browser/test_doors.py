"""Who gets in where: the owner's console, Gradio's routes, a proxy in front."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.browser.conftest import Join, Visit, Watch
from tests.browser.rater import Rater
from tests.browser.server import Server
from tests.browser.study import invite, make_study, marked_pairs, vote_rows, votes

pytestmark = pytest.mark.browser

SHUT = (
    "gradio_api/upload", "gradio_api/queue/join", "gradio_api/queue/data?session_hash=x",
    "gradio_api/file=/etc/hostname", "gradio_api/proxy=http://outside.invalid/",
    "gradio_api/call/x",
    "gradio_api/run/predict", "gradio_api/reset", "gradio_api/upload_progress", "upload", "run/x",
    "queue/join", "file=/etc/hostname", "login", "monitoring", "monitoring/summary",
)  # fmt: skip


@pytest.mark.parametrize("method", ["get", "post"])
def test_gradios_routes_on_the_rating_page_are_shut(
    join: Join, server: Server, method: str
) -> None:
    rater = join().begin()
    for path in SHUT:
        for base in ("/rate/", "/"):
            call = getattr(rater.context.request, method)
            assert call(server.url + base + path).status in (401, 404, 405), path


def test_the_rating_page_has_no_handler_and_no_secret(join: Join, server: Server) -> None:
    rater = join().begin()
    config = rater.context.request.get(f"{server.url}/rate/config").json()
    assert config["dependencies"] == []
    assert [c["type"] for c in config["components"] if c["type"] != "html"] == []
    told = rater.context.request.get(f"{server.url}/rate/config").text() + rater.page.content()
    for model in ("alder", "birch", "cedar"):
        assert told.count(model) == rater.page.content().count(f"[[{model}]]")
    assert str(server.folder) not in told


def test_the_console_is_for_the_owner_only(join: Join, visit: Visit, server: Server) -> None:
    stranger, rater = visit(), join().begin().page
    for page in (stranger, rater):
        for path in (
            "/console/", "/console", "/console/config", "/console/gradio_api/info",
            "/console/gradio_api/queue/data?session_hash=x",
            "/console/gradio_api/file=/etc/hostname",
        ):  # fmt: skip
            answer = page.context.request.get(server.url + path)
            assert answer.status == 401, path
            assert "ratings finished" not in answer.text()
        for path in ("queue/join", "run/html", "call/html", "upload"):
            answer = page.context.request.post(
                f"{server.url}/console/gradio_api/{path}",
                data={"fn_index": 0, "data": [], "session_hash": "x"},
            )
            assert answer.status in (401, 404), path
    wrong = stranger.context.request.get(f"{server.url}/owner/not-the-token")
    assert wrong.status == 404


def test_the_console_shows_progress_raters_and_agreement(
    join: Join, visit: Visit, server: Server
) -> None:
    attack = "<img src=x onerror='window.evenhandHit=1'><script>window.evenhandHit=1</script>"
    raters = [
        Rater(name, server.invited(name), visit()).begin() for name in (attack, "a second rater")
    ]
    for _ in range(8):
        for rater in raters:
            rater.vote("2")
    owner = visit()
    owner.goto(server.owner)
    owner.wait_for_selector("#console table")
    text = owner.inner_text("#console")
    assert "ratings finished" in text
    assert "Agreement so far" in text
    row = owner.locator("#console tr", has_text=attack)
    assert row.count() == 1
    assert row.locator("td").first.inner_text() == attack
    assert row.locator("td").nth(3).inner_text() == "8"
    assert owner.locator("#console img, #console script").count() == 0
    assert owner.evaluate("window.evenhandHit") is None
    owner.get_by_role("button", name="Refresh").click()
    owner.wait_for_load_state("networkidle")
    assert owner.evaluate("window.evenhandHit") is None
    # The owner's cookie stands beside a rater's, and opens no rating page by itself.
    assert owner.context.request.get(f"{server.url}/api/screen").status == 401


@pytest.fixture(scope="module")
def prefixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server behind a proxy that strips /study1; the address that raters use."""
    folder = make_study(tmp_path_factory.mktemp("prefix") / "s", marked_pairs(3))
    running = Server(folder, root_path="/study1").start()
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), proxy_to(running.port))
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    yield running, f"http://127.0.0.1:{proxy.server_port}"
    proxy.shutdown()
    proxy.server_close()
    thread.join()
    running.close()


def proxy_to(port: int) -> type[BaseHTTPRequestHandler]:
    """A reverse proxy that knows only /study1, and hands the rest of the path on."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            if not self.path.startswith("/study1/"):
                self.send_error(404, f"outside the prefix: {self.path}")
                return
            onward = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            onward.request(
                self.command, self.path.removeprefix("/study1"), body, dict(self.headers)
            )
            answer = onward.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            onward.close()

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    return Proxy


def test_rating_works_behind_a_path_prefix(
    prefixed: tuple[Server, str], visit: Visit, watch: Watch
) -> None:
    server, front = prefixed
    watch.allowed.append("outside the prefix: /favicon.ico")  # Chromium's own idea
    rater = Rater("through", front + "/study1" + invite(server.folder, "through"), visit())
    asked: list[str] = []
    rater.page.on("request", lambda request: asked.append(request.url))
    rater.begin()
    assert rater.page.url == f"{front}/study1/rate/"
    rater.vote("1")
    rater.status("Saved")
    assert vote_rows(server.folder, "through") == len(votes(server.folder, "through")) == 1
    assert [url for url in asked if not url.startswith(f"{front}/study1/")] == []
    assert f"{server.url}/study1/owner/" in server.printed


def test_the_console_fits_a_phone(visit: Visit, server: Server) -> None:
    """Gradio's boxes grew with the widest table, which pushed every figure off the screen."""
    server.invited("somebody with a name of usual length")
    page = visit(viewport={"width": 390, "height": 844})
    page.goto(server.owner)
    page.wait_for_selector("#console table")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

"""Routes beside the Gradio pages: invitations, sessions, and the rating calls.

A vote takes this plain route instead of a queued Gradio event (docs/decisions/vote-path.md).
Who is asking comes from our signed cookie alone; what is true comes from the database.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from html import escape
from importlib import resources
from typing import Annotated, Any

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import seats
from .errors import EvenhandError, NotInvited, RatingError, StoreError
from .grade_protocol import whole_grade
from .harm import HarmLabel
from .labels import Said
from .pages import Have
from .records import Choice, whole_text
from .room import RatingRoom
from .seats import Rater
from .store import Store

OWNER = "owner"
JSON = "application/json"
# Gradio's page needs inline scripts and eval; nothing outside this server is reachable.
CSP = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval';"
    " style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:;"
    " connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self';"
    " frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


def _whole(value: object) -> object:
    """A text box that cuts an emoji at its limit sends half of one: kept as U+FFFD."""
    if not isinstance(value, str):
        return value
    return whole_text(value)


Text = Annotated[str, BeforeValidator(_whole)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class HaveBody(_Body):
    """What the page shows already."""

    page: str = Field(default="", max_length=100)
    turns: int = Field(default=0, ge=0)

    def have(self) -> Have:
        """As the room wants it."""
        return Have(self.page, self.turns)


class ConsentBody(_Body):
    """Answer to the consent page."""

    agreed: bool
    declined: list[Annotated[str, Field(max_length=500)]] | None = Field(None, max_length=1000)


class DeclineBody(_Body):
    """The categories of questions that a rater does not want to see, all of them."""

    categories: list[Annotated[str, Field(max_length=500)]] = Field(max_length=1000)


class UndoBody(HaveBody):
    """The last vote taken back; `key` is kept until the page knows that it was."""

    key: str = Field(default="", max_length=100)


class VoteBody(HaveBody):
    """One vote; `key` is made by the page once per screen and survives retries."""

    screen: str = Field(max_length=100)
    choice: Choice
    key: str = Field(min_length=8, max_length=100)
    comment: Text = ""
    active_ms: int | None = Field(default=None, ge=0, le=2**40)


class LabelBody(HaveBody):
    """One harm label, or one grade; `key` as in a vote."""

    screen: str = Field(max_length=100)
    label: dict[str, Any] = Field(max_length=20)
    key: str = Field(min_length=8, max_length=100)
    comment: Text = ""
    active_ms: int | None = Field(default=None, ge=0, le=2**40)

    def said(self) -> Said:
        """As the rubric has it: `{"grade": n}` is a grade, anything else a harm label.

        Raises:
            RatingError: the rubric does not allow it.
        """
        try:
            if set(self.label) == {"grade"}:
                return whole_grade(self.label["grade"])
            return HarmLabel.from_json(self.label)
        except ValueError as error:
            raise RatingError(f"this label is not complete: {error}") from error


class SkipBody(_Body):
    """A pair or answer set aside."""

    screen: str = Field(max_length=100)
    reason: str = Field(min_length=1, max_length=200)
    note: Text = ""


class DraftBody(_Body):
    """An unsent comment; `label` holds what was chosen of an answer's label so far."""

    screen: str = Field(max_length=100)
    comment: Text
    label: dict[str, Any] | None = Field(default=None, max_length=20)


class Sessions:
    """Signed cookies; the name carries the study, since ports of one host share cookies."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.cookie = f"evenhand_{store.study_id[:8]}"

    def holder(self, request: Request) -> str | None:
        """The rater id or "owner" that a request's cookie names."""
        return seats.session_holder(self._store, request.cookies.get(self.cookie))

    def rater(self, request: Request) -> Rater:
        """The rater of a request.

        Raises:
            NotInvited: no valid session.
        """
        holder = self.holder(request)
        if holder is None or holder == OWNER:
            raise NotInvited("your session has ended; open your invitation link again")
        return seats.rater(self._store, holder)

    def rater_id(self, request: Request) -> str | None:
        """For Gradio's `auth_dependency`: the rater's id, or None to refuse."""
        holder = self.holder(request)
        return None if holder == OWNER else holder

    def owner(self, request: Request) -> str | None:
        """For Gradio's `auth_dependency`: "owner", or None to refuse."""
        cookie = request.cookies.get(self.cookie + "_owner")
        return OWNER if seats.session_holder(self._store, cookie) == OWNER else None

    def grant(self, request: Request, response: Response, who: str) -> None:
        """Sign in; an owner's cookie stands beside a rater's, so one browser can be both."""
        response.set_cookie(
            self.cookie + ("_owner" if who == OWNER else ""),
            seats.session(self._store, who),
            max_age=seats.SESSION_SECONDS,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )


def install(app: FastAPI, store: Store, room: RatingRoom, sessions: Sessions) -> None:
    """Add every route, the error answers and the security headers to an app."""
    app.include_router(_doors(store, sessions))
    app.add_exception_handler(EvenhandError, _told)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(Guard, sessions=sessions, calls=calls(room, sessions))


def _doors(store: Store, sessions: Sessions) -> APIRouter:
    doors = APIRouter()

    @doors.get("/")
    def landing(request: Request) -> Response:
        if sessions.rater_id(request):
            return RedirectResponse("rate/", 303)
        return notice("Evenhand", "To take part, open the link from your invitation.")

    @doors.get("/invite/{token}")
    def accept(token: str, request: Request) -> Response:
        try:
            rater = seats.accept_invitation(store, token)
        except NotInvited as error:
            return notice("This link does not work", str(error), 404)
        response = RedirectResponse("../rate/", 303)
        sessions.grant(request, response, rater.id)
        return response

    @doors.get("/owner/{token}")
    def owner(token: str, request: Request) -> Response:
        if not seats.is_owner(store, token):
            return notice("This link does not work", "It is not this study's owner link.", 404)
        response = RedirectResponse("../console/", 303)
        sessions.grant(request, response, OWNER)
        return response

    @doors.get("/static/{name}")
    def static(name: str) -> Response:
        kind = {"rate.css": "text/css", "label.css": "text/css", "console.css": "text/css",
                "rate.js": "text/javascript", "label.js": "text/javascript"}  # fmt: skip
        if name not in kind:
            raise HTTPException(404)
        text = resources.files("annotate").joinpath("static", name).read_bytes()
        return Response(text, media_type=kind[name], headers={"Cache-Control": "no-cache"})

    @doors.get("/favicon.ico")
    @doors.get("/rate/favicon.ico")
    @doors.get("/console/favicon.ico")
    def icon() -> Response:
        keep = {"Cache-Control": "max-age=86400"}
        return Response(ICON, media_type="image/svg+xml", headers=keep)

    @doors.get("/healthz")
    def health() -> dict[str, bool]:
        return {"ok": True}

    return doors


WORKERS = 1
"""Threads for raters' calls. SQLite lets one write and Python one run at a time, so more threads
only hand the two locks around: measured at 20 raters, CPU for a vote is 2.9 ms with one,
3.8 with two, 4.6 with twenty."""

MAX_BODY = 100_000

Act = Callable[[Rater, Any], Any]


def calls(room: RatingRoom, sessions: Sessions) -> ASGIApp:
    """The rating calls as a plain Starlette router, which the guard reaches before FastAPI.

    FastAPI's own layers would cost more than the vote itself (docs/decisions/vote-path.md).
    """
    acts: dict[str, tuple[type[_Body] | None, Act]] = {
        "/screen": (None, lambda rater, _: room.state(rater)),
        "/raw/{screen}": (None, room.raw),
        "/consent": (ConsentBody, lambda r, body: room.consent(r, body.agreed, body.declined)),
        "/decline": (DeclineBody, lambda rater, body: room.decline(rater, body.categories)),
        "/stop": (_Body, lambda rater, _: room.stop(rater)),
        "/label": (LabelBody, lambda rater, body: _label(room, rater, body)),
        "/vote": (VoteBody, lambda rater, body: _vote(room, rater, body)),
        "/undo": (UndoBody, lambda rater, body: room.undo(rater, body.have(), body.key)),
        "/skip": (SkipBody, lambda r, body: room.skip(r, body.screen, body.reason, body.note)),
        "/draft": (DraftBody, lambda r, body: room.draft(r, body.screen, body.comment, body.label)),
        "/heartbeat": (_Body, lambda rater, _: room.heartbeat(rater)),
    }
    workers = CapacityLimiter(WORKERS)
    routes = Router(
        [
            Route(
                f"/api{path}",
                _endpoint(workers, sessions, shape, act),
                methods=["POST" if shape else "GET"],
            )
            for path, (shape, act) in acts.items()
        ],
        default=_no_such_call,
    )
    # A wrong method is an HTTPException, which FastAPI's own handler is too far away to catch.
    return ExceptionMiddleware(routes, handlers={HTTPException: _http_error})


def _vote(room: RatingRoom, rater: Rater, body: VoteBody) -> dict[str, Any]:
    return room.vote(
        rater,
        body.screen,
        body.choice,
        client_key=body.key,
        comment=body.comment,
        active_ms=body.active_ms,
        have=body.have(),
    )


def _label(room: RatingRoom, rater: Rater, body: LabelBody) -> dict[str, Any]:
    return room.label(
        rater,
        body.screen,
        body.said(),
        client_key=body.key,
        comment=body.comment,
        active_ms=body.active_ms,
        have=body.have(),
    )


def _endpoint(
    workers: CapacityLimiter, sessions: Sessions, shape: type[_Body] | None, act: Act
) -> Callable[[Request], Awaitable[Response]]:
    """One call: body checked, rater from the cookie, work in a thread, errors told."""

    async def endpoint(request: Request) -> Response:
        given: Any = request.path_params.get("screen")
        if shape is not None:
            body = await _body(request)
            if body is None:
                return _problem("too_large", "That is too long to be kept.", 413)
            try:
                # Not model_validate_json: it refuses half an emoji before `Text` can mend it.
                given = shape.model_validate(json.loads(body or b"{}"))
            except (ValueError, RecursionError):  # not JSON, or not what was asked for
                return _problem("invalid", "The page sent something unexpected; reload it.", 422)
        try:
            value = await to_thread.run_sync(
                lambda: act(sessions.rater(request), given), limiter=workers
            )
        except EvenhandError as error:
            return _told(request, error)
        return Response(orjson.dumps({"ok": True} if value is None else value), media_type=JSON)

    return endpoint


async def _body(request: Request) -> bytes | None:
    """The whole body, or None as soon as it is too long (whatever it announced)."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return body


async def _no_such_call(scope: Scope, receive: Receive, send: Send) -> None:
    await _problem("http", "Not found.", 404)(scope, receive, send)


def _problem(
    code: str, message: str, status: int, headers: dict[str, str] | None = None
) -> Response:
    return JSONResponse({"error": code, "message": message}, status, headers)


def _told(_request: Request, error: Exception) -> Response:
    """Errors meant for a person: their one line. Paths and settings stay on the server."""
    if isinstance(error, RatingError):
        return _problem(error.code, str(error), error.status)
    if isinstance(error, StoreError):
        message = "Nothing was saved: the study's storage is not writable. Try again in a moment."
        return _problem("not_saved", message, 503)
    return _problem("failed", "That did not work; try again.", 500)


def _failed(_request: Request, _error: Exception) -> Response:
    """A bug: it is logged with its traceback. This answer passes outside of `Guard`."""
    told = {"error": "failed", "message": "That did not work; try again."}
    return JSONResponse(told, 500, headers=HEADERS)


def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if "/api/" in request.url.path:
        return _problem("http", "Not found.", status)
    return notice("Nothing here", "Open the link from your invitation.", status)


# What Gradio's rating page really asks for; its upload, file and proxy routes stay shut.
RATE_PATHS = ("", "config", "theme.css", "assets/", "static/", "gradio_api/startup-events",
              "gradio_api/heartbeat/", "gradio_api/theme.css", "favicon.ico", "manifest.json",
              "gradio_api/info")  # fmt: skip


class Guard:
    """ASGI middleware: security headers on every answer, closed doors before any handler.

    Plain ASGI, since Starlette's decorator form buffers and costs a task per request.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, calls: ASGIApp) -> None:
        self._app = app
        self._sessions = sessions
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer refused requests, pass the others on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        path = request.url.path.removeprefix(scope.get("root_path", ""))

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if path.startswith("/api/"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        refused = _refuse(request, path, self._sessions)
        inner = self._calls if path.startswith("/api/") else self._app
        await (refused or inner)(scope, receive, guarded)


def _refuse(request: Request, path: str, sessions: Sessions) -> Response | None:
    if path.startswith("/api/") and request.method == "POST" and not _from_own_page(request):
        return _problem("origin", "Send this from the study's page.", 403)
    if path.rstrip("/") == "/rate" and not sessions.rater_id(request):
        return notice("Please sign in", "Open the link from your invitation.", 401)
    if f"{path}/".startswith("/console/") and not sessions.owner(request):
        return notice("For the study's owner", "Open the owner's link that `serve` printed.", 401)
    # Its events start the judge, which costs money: a page on another port of this host shares
    # the cookie.
    if path.startswith("/console/") and request.method == "POST" and not _from_own_page(request):
        return _problem("origin", "Send this from the study's page.", 403)
    if path.startswith("/rate/"):
        rest = path.removeprefix("/rate/")
        if not any(rest == p or (p.endswith("/") and rest.startswith(p)) for p in RATE_PATHS):
            return _problem("http", "Not found.", 404)
    return None


def _from_own_page(request: Request) -> bool:
    """A cross-site form cannot send JSON, and a browser names the page it comes from."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        return False
    site = request.headers.get("sec-fetch-site")
    return site in (None, "same-origin", "none")


def notice(title: str, text: str, status: int = 200) -> HTMLResponse:
    """A small page with one message."""
    return HTMLResponse(
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{NOTICE_CSS}</style>"
        f"<main><h1>{escape(title)}</h1><p>{escape(text)}</p></main>",
        status,
    )


# Two even bars.
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="7" fill="#1d5a63"/>'
    '<rect x="8" y="8" width="6" height="16" rx="2" fill="#fff"/>'
    '<rect x="18" y="8" width="6" height="16" rx="2" fill="#fff"/></svg>'
)

NOTICE_CSS = (
    ":root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;"
    "font:1.05rem/1.6 system-ui,sans-serif;background:light-dark(#f7f6f3,#16181c);"
    "color:light-dark(#22252a,#e6e7ea)}main{max-width:30rem;padding:2rem}"
    "h1{font-size:1.4rem;font-weight:600;margin:0 0 .5rem}p{margin:0}"
)

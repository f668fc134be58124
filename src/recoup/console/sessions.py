"""Who looks: the session of a browser, in a cookie that no script reads and no other site sends.

A session is opened with a key, or with a link that works once. Pages ask for nothing else: no header, no parameter, and
routes under ``/v1`` take no cookie.
"""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request, Response

from recoup.api.callers import Callers
from recoup.database.connection import Database
from recoup.refusals import LawRefused
from recoup.service import Denied, Principal, authenticate, sessions

COOKIE = "recoup_session"
THEME = "recoup_theme"
THEMES = ("auto", "light", "dark")


class Signed:
    """A session that is valid: whose it is, and the token that its pages send with a write."""

    def __init__(self, principal: Principal, token: str) -> None:
        self.principal = principal
        self.csrf = sessions.csrf_token(token)


def cookie(request: Request, name: str) -> str | None:
    """One cookie of a request; None: there is none, or more than one of this name."""
    found = []
    for header in request.headers.getlist("cookie"):
        for part in header.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                found.append(value)
    return found[0] if len(found) == 1 else None


def signed(database: Database, request: Request) -> Signed:
    """The session of a request. Refuses one that has none, or whose session has ended."""
    token = cookie(request, COOKIE)
    if token is None:
        raise Denied("session_missing", "You are not signed in.", "Sign in.")
    return Signed(sessions.session_of(database, token), token)


def sign_in(callers: Callers, database: Database, key: str) -> str:
    """Open a session with a key; returns its token."""
    callers.ask_for_keys()
    if not callers.keyed:
        raise LawRefused("keys_none", "This service has no keys.", "Open the link of: recoup console link")
    return sessions.open_session(database, authenticate(database, key.strip())).token


def use_link(database: Database, token: str) -> str:
    """Turn a link into a session; returns its token."""
    return sessions.use_link(database, token).token


def sign_out(database: Database, request: Request) -> None:
    """End the session of a request."""
    principal = signed(database, request).principal
    if principal.session_id is not None:
        sessions.close(database, principal.session_id)


def check_write(request: Request, given: str | None) -> None:
    """Refuse a write that one of our own pages did not send."""
    token = cookie(request, COOKIE) or ""
    site = request.headers.get("sec-fetch-site", "same-origin")
    if site != "same-origin" or given is None or not sessions.is_csrf_token(token, given):
        raise LawRefused(
            "page_outdated",
            "This form is not from a page of your present session. Nothing was changed.",
            "Open the page again, and send it from there.",
        )


def keep(response: Response, request: Request, token: str) -> None:
    """Give a session to the browser."""
    response.set_cookie(
        COOKIE, token, max_age=int(sessions.LASTS.total_seconds()), path="/", httponly=True, samesite="strict",
        secure=is_secure(request),
    )  # fmt: skip


def drop(response: Response, request: Request) -> None:
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=is_secure(request))


def is_secure(request: Request) -> bool:
    """Whether the browser speaks https, also through a proxy that ends it: its own header says so."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def theme(request: Request) -> str:
    found = cookie(request, THEME)
    return found if found in THEMES else "auto"


def after(path: str | None) -> str:
    """Where to go afterwards: a path of our own, whatever was asked for."""
    if not path or not path.startswith("/") or path.startswith(("//", "/\\")) or len(path) > 4000:
        return "/"
    return path if path.isprintable() and "\\" not in path else "/"


def sign_in_path(back: str) -> str:
    return f"/sign-in?next={quote(after(back), safe='/?=&')}" if after(back) != "/" else "/sign-in"

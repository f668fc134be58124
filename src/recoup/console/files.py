"""The few files that pages need: styles, scripts, an icon. Their addresses hold a digest: browsers keep them."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import Request, Response

OWN = {"console.css": "text/css", "console.js": "text/javascript", "plots.js": "text/javascript",
       "icon.svg": "image/svg+xml"}  # fmt: skip
VENDORED = {"htmx.min.js": "text/javascript", "uPlot.iife.min.js": "text/javascript", "uPlot.min.css": "text/css"}


@dataclass(frozen=True, slots=True)
class File:
    """One file, as it is sent."""

    name: str
    kind: str
    body: bytes
    packed: bytes
    digest: str

    @property
    def path(self) -> str:
        return f"/static/{self.digest}/{self.name}"


@cache
def all_files() -> dict[str, File]:
    """Every file, by its name. One that was not fetched at installation is missing: pages work without scripts."""
    here = files("recoup.console")
    found = {}
    for folder, named in (("static", OWN), ("vendored", VENDORED)):
        for name, kind in named.items():
            path = here.joinpath(folder, name)
            if path.is_file():
                body = path.read_bytes()
                digest = hashlib.sha256(body).hexdigest()[:16]
                found[name] = File(name, f"{kind}; charset=utf-8", body, gzip.compress(body, 9, mtime=0), digest)
    return found


def path_of(name: str) -> str | None:
    """The address of a file."""
    found = all_files().get(name)
    return None if found is None else found.path


def answer(request: Request) -> Response:
    """A file by its address. An older digest gets the present file, and is not kept."""
    found = all_files().get(request.path_params["name"])
    if found is None:
        return Response("There is no such file.\n", status_code=404, media_type="text/plain")
    is_present = request.path_params["digest"] == found.digest
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable" if is_present else "no-store",
        "X-Content-Type-Options": "nosniff",
        "Vary": "Accept-Encoding",
    }
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, media_type=found.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(found.body, media_type=found.kind, headers=headers)

"""How the world is asked about itself and moved to another day. It lies beside the directory, on the same port."""

from __future__ import annotations

import json

from recoup.world.http_server import Request, response
from recoup.world.present import Present

ABOUT, SEEN, DAY = "/world", "/world/seen", "/world/day"
DAY_MOST = 10_000


def control(present: Present, request: Request) -> bytes:
    match request.method, request.path:
        case "GET", path if path == ABOUT:
            return _json(200, {"world": "recoup", "companies": len(present.by_domain), "day": present.day})
        case "GET", path if path == SEEN:
            return _json(200, present.seen.as_json())
        case "PUT", path if path == DAY:
            day = request.query.get("to", "")
            if not (day.isascii() and day.isdecimal() and int(day) <= DAY_MOST):
                return _json(400, {"error": f"a day from 0 to {DAY_MOST}"})
            present.move_to(int(day))
            return _json(200, {"day": present.day})
        case _:
            return _json(404, {"error": "there is nothing here"})


def _json(status: int, value: object) -> bytes:
    return response(status, json.dumps(value), content_type="application/json")

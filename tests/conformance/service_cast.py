"""The rows of the service's lifecycle."""

from __future__ import annotations

from conformance.cast import Role
from keyring import KEY_MOVES, KEY_ROW, REVOKED_ROW, key_in
from recoup.service.lifecycle import API_KEY

SERVICE_ROLES = (Role(API_KEY, {"active": KEY_ROW, "revoked": REVOKED_ROW}, KEY_MOVES, row_in=key_in),)

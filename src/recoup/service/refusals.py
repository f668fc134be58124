"""What the routines of the service refuse."""

from recoup.refusals import declare

LAWS = {
    "RC160": ("key_rule", "a key begins now, for a hub that exists, and never becomes valid for longer"),
}
CONSTRAINTS = {
    "api_key_name": (
        "key_name_taken",
        "There is an active key of this name.",
        "Rotate it: recoup keys rotate NAME; or revoke it first.",
    ),
}
declare(LAWS, CONSTRAINTS)

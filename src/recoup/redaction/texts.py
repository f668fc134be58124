"""Texts without the secrets in them: passwords in URLs, values under names that tell, tokens by their form.

Most texts have none. So a text is first asked for what every text with a secret has; only then it is read. Reading
takes time in proportion to its length, whatever stands in it.
"""

import re
from functools import cache
from typing import NamedTuple

from recoup.redaction.known import BOUNDARY, Tells, forms, names, telling, tokens, words_of

REDACTED = "[redacted]"
_RANDOM_LEAST = 6  # characters of what is taken for random because it has a digit

# A name and a sign. What is behind them is read apart: it may begin with another name.
_NAMED = re.compile(
    r"""(?<![\w.$-])
    (?P<name>(?:(?i:api|access|secret|private|auth|refresh|session|client)[ ](?=(?i:key|token|secret|pass|code|id)))?
      -{0,2}[A-Za-z_$][\w.$-]{1,99}+)
    (?P<quote>(?:\\{0,3}["'\]]){0,3}+)
    (?:(?P<sign>\s{0,3}(?:=>|:=|={1,3}|:(?!//))\s{0,5})
      |(?P<comma>\s{0,3},\s{0,3}(?:\\{0,3}["']value\\{0,3}["']\s{0,3}:\s{0,3})?(?=[bru]?\\{0,3}["']))
      |(?P<space>[ ]{1,3}))""",
    re.VERBOSE,
)
_QUOTED = re.compile(
    r"""[bruf]?(?:\\{1,3}"(?P<escaped>(?:[^"\\]++|\\(?!"))*+)\\"|"(?P<double>(?:[^"\\]++|\\.)*+)"
    |'(?P<single>(?:[^'\\]++|\\.|'')*+)')""",
    re.VERBOSE | re.DOTALL,
)
# Up to white space; a sign ends it where something else begins behind it.
_PLAIN = re.compile(
    r"""(?:[^\s"'`&;,)\]}>\\]++|["'`)\]}>\\](?=\w)|[&;](?!\s|$|["']|[\w.%-]{1,64}=)|,(?![\s"']|$|[\w.-]{1,64}[=:]))++"""
)
_SCHEME = re.compile(r"(?i:bearer|basic|token|negotiate|apikey|key)[ ]{1,3}")
_SIGNED = re.compile(r"(?i:digest|aws4-hmac-sha256|hmac|signature)[ ]{1,3}(?P<line>[^\r\n]++)")
_COOKIES = re.compile(r"""(?=[^\r\n"'\\=]++=)(?P<line>[^\r\n"'\\]++)""")
_PROSE = re.compile(r"[.,;:!?]?\s+[A-Za-z]")
_RUN = re.compile(r"""(?:[^\s"<>`']++|'(?![,\])}:;\s]|$))++""")
_LONG = re.compile(r"\S{19}")  # no token is shorter
_ALONE = re.compile(r"[\w.~%!$*+=-]+")


class _Span(NamedTuple):
    start: int
    end: int


def without_secrets(text: str) -> str:
    """A text without the secrets that are found in it; itself, if there are none."""
    if "://" in text and "@" in text:
        text = _without_passwords(text)
    if _has_token(text):
        for token in tokens():
            if token.begins in text:
                text = token.pattern.sub(_replaced, text)
    if _has_name(text):
        for form in forms():
            text = form.pattern.sub(_named_replaced if form.is_named else _replaced, text)
        text = _without_named(text)
    return text


def is_hinted(text: str) -> bool:
    """Whether a text is worth reading for secrets. For most it is not, and this is all that they cost."""
    return ("://" in text and "@" in text) or _has_name(text) or _has_token(text)


def _has_token(text: str) -> bool:
    long = _LONG.search(text)
    return long is not None and _token().search(text, long.start()) is not None


def _has_name(text: str) -> bool:
    has = text.lower().__contains__
    return any(map(has, names().hints)) or (has("=") and any(map(has, names().signed_hints)))


@cache
def _token() -> re.Pattern[str]:
    """How any token begins."""
    return re.compile(f"{BOUNDARY}(?:{'|'.join(sorted(re.escape(token.begins) for token in tokens()))})")


def _replaced(found: re.Match[str]) -> str:
    start, end = found.span("secret")
    if not found["secret"].strip():
        return found[0]
    return f"{found.string[found.start() : start]}{REDACTED}{found.string[end : found.end()]}"


def _named_replaced(found: re.Match[str]) -> str:
    return _replaced(found) if telling(())[found["name"]] in (Tells.TEXT, Tells.ALL) else found[0]


# Passwords in URLs ----------------------------------------------------------------------------------------------------


def _without_passwords(text: str) -> str:
    pieces = text.split("://")
    for place in range(1, len(pieces)):
        run = _RUN.match(pieces[place])
        secret = _in_url(run[0], is_web=pieces[place - 1].endswith(("http", "https"))) if run else None
        if secret is not None:
            pieces[place] = f"{pieces[place][: secret.start]}{REDACTED}{pieces[place][secret.end :]}"
    return "://".join(pieces)


def _in_url(run: str, *, is_web: bool) -> _Span | None:
    """Where the password of a URL stands, or who it is for where that alone lets one in."""
    cut = min((at for sign in "?#" if (at := run.find(sign)) >= 0), default=len(run))
    head = run[:cut] if "@" in run[:cut] else run
    last = head.rfind("@")
    authority = head.partition("/")[0]
    if last < 0 or authority.startswith("["):
        return None
    at = authority.rfind("@")
    user, colon, password = (authority if at < 0 else authority[:at]).partition(":")
    if colon:
        # A password may hold @ and a slash. Without an @ before the slash it is one, or the port of a host.
        is_port = at < 0 and (not password or password.isdigit())
        secret = head[len(user) + 1 : last]
        return None if is_port or not secret.strip("*") else _Span(len(user) + 1, last)
    return _Span(0, at) if is_web and at > 0 and _ALONE.fullmatch(user) else None


# Values under names ---------------------------------------------------------------------------------------------------


def _without_named(text: str) -> str:
    parts: list[str] = []
    done = 0
    for found in _NAMED.finditer(text):
        secret = _under(text, found) if found.start() >= done else None
        if secret is not None:
            parts += (text[done : secret.start], REDACTED)
            done = secret.end
    return "".join((*parts, text[done:])) if parts else text


def _under(text: str, found: re.Match[str]) -> _Span | None:
    """Where the secret stands that a name announces, if it does."""
    name = found["name"]
    tells = telling(())[name]
    plain = "".join(words_of(name)) if tells or text[found.start() - 1 : found.start()] in "?&" else ""
    if plain in names().query and (found["sign"] or "")[:1] == "=" and text[found.start() - 1] in "?&":
        tells = Tells.ALL
    if tells not in (Tells.TEXT, Tells.ALL):
        return None
    is_header = plain in names().headers
    if (found["comma"] is not None and not (is_header and found["quote"])) or (
        found["space"] is not None and not name.startswith("--")
    ):
        return None
    quoted = _QUOTED.match(text, found.end())
    if quoted is not None:
        start, end = quoted.span(quoted.lastgroup or 0)
        return None if _is_innocent(text[start:end], name) else _Span(start, end)
    return _of_header(text, found.end(), plain) if is_header and found["sign"] else _unquoted(text, found, tells, plain)


def _of_header(text: str, at: int, plain: str) -> _Span | None:
    line = _SIGNED.match(text, at) or ("cookie" in plain and _COOKIES.match(text, at))
    if line:
        return _Span(*line.span("line"))
    scheme = _SCHEME.match(text, at)
    value = _PLAIN.match(text, scheme.end() if scheme else at)
    if value is None or _is_innocent(value[0], "") or (not scheme and _is_said(text, value)):
        return None
    return _Span(*value.span())


def _unquoted(text: str, found: re.Match[str], tells: Tells, plain: str) -> _Span | None:
    value = _PLAIN.match(text, found.end())
    if value is None or _is_innocent(value[0], found["name"]):
        return None
    sign, is_number = found["sign"] or "", value[0].isdigit()
    is_sure = sign in ("=", ":=", "=>") or bool(found["quote"]) or sign == ""
    if tells == Tells.TEXT and (is_number or (not is_sure and not _is_random(value[0]))):
        return None
    if plain in names().unsure and not is_sure:
        return None
    if found["space"] is not None and value[0].startswith("-"):
        return None
    return None if not is_sure and _is_said(text, value) else _Span(*value.span())


def _is_innocent(value: str, name: str) -> bool:
    """What says something about a secret, is a place for one, or is source code."""
    plain = value.rstrip(".,:;!?").lower()
    return (
        plain in names().innocent_values
        or plain == name.lower()
        or plain.startswith(names().innocent_beginnings)
        or not any(map(str.isalnum, plain))
    )


def _is_random(value: str) -> bool:
    return len(value) >= _RANDOM_LEAST and any(map(str.isdigit, value))


def _is_said(text: str, value: re.Match[str]) -> bool:
    """A plain word that others follow: password: must have a digit."""
    return value[0].rstrip(".,:;!?").isalpha() and _PROSE.match(text, value.end()) is not None

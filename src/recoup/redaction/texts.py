"""Texts without the secrets in them: passwords in URLs, values under names that tell, tokens by their form.

Most texts have none. So a text is first asked for what every text with a secret has; only then it is read. Reading
takes time in proportion to its length, whatever stands in it.
"""

import re
from functools import cache
from typing import NamedTuple

from recoup.redaction.known import BOUNDARY, Hint, forms, names, telling, tokens, words_of

REDACTED = "[redacted]"
_RANDOM_LEAST = 6  # characters of what is taken for random because it has a digit …
_TOKEN_LEAST = 12  # … and where it is merely called a token
_MAX_JUDGED = 500  # characters by which a value is judged: names in what is no secret are each looked behind

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
_COOKIES = re.compile(r"""(?=[^\r\n"'\\=]{1,500}+=)(?P<line>[^\r\n"'\\]++)""")
_PROSE = re.compile(r"[.,;:!?]?[ \t]++\S")
_RUN = re.compile(r"""(?:[^\s"<>`']++|'(?![,\])}:;\s]|$))++""")
_LONG = re.compile(r"\S{19}")  # no token is shorter
_ALONE = re.compile(r"[\w.~%!$*+=-]++")


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
    """How any token begins; by first letters, because branches are tried one after the other."""
    begin: dict[str, list[str]] = {}
    for token in tokens():
        begin.setdefault(token.begins[0], []).append(re.escape(token.begins[1:]))
    firsts = (f"{re.escape(first)}(?:{'|'.join(sorted(rest))})" for first, rest in sorted(begin.items()))
    return re.compile(f"{BOUNDARY}(?:{'|'.join(firsts)})")


def _replaced(found: re.Match[str]) -> str:
    start, end = found.span("secret")
    if not found["secret"].strip():
        return found[0]
    return f"{found.string[found.start() : start]}{REDACTED}{found.string[end : found.end()]}"


def _named_replaced(found: re.Match[str]) -> str:
    return _replaced(found) if telling(())[found["name"]] in (Hint.TEXT, Hint.ALL) else found[0]


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
    tells, plain = _told(text, found)
    is_header = plain in names().headers
    is_option = found["name"].startswith("--")  # also in a list: subprocess says ['mysql', '--password', 'x'] failed
    if (
        tells not in (Hint.TEXT, Hint.ALL)
        or (found["comma"] is not None and not ((is_header or is_option) and found["quote"]))
        or (found["space"] is not None and not is_option)
    ):
        return None
    quoted = _QUOTED.match(text, found.end())
    if quoted is None:
        return (_of_header if is_header and found["sign"] else _unquoted)(text, found, tells, plain)
    value = quoted[quoted.lastgroup or 0]
    if found["comma"] is not None and value.startswith("-"):  # another option
        return None
    if _is_innocent(value, found["name"]) or not (
        tells == Hint.ALL or is_header or found["quote"] or ":" not in found["sign"] or _is_random(value, plain)
    ):
        return None
    return _Span(*quoted.span(quoted.lastgroup or 0))


def _told(text: str, found: re.Match[str]) -> tuple[Hint, str]:
    """What a name tells here, and its words as one. In the query of a URL there are others."""
    tells, before = telling(())[found["name"]], text[found.start() - 1 : found.start()]
    plain = "".join(words_of(found["name"])) if tells or before in ("?", "&") else ""
    in_query = before in ("?", "&") and plain in names().query and (found["sign"] or "").startswith("=")
    return (Hint.ALL if in_query else tells), plain


def _of_header(text: str, found: re.Match[str], _: Hint, plain: str) -> _Span | None:
    at = found.end()
    line = _SIGNED.match(text, at) or ("cookie" in plain and _COOKIES.match(text, at))
    if line:
        return _Span(*line.span("line"))
    scheme = _SCHEME.match(text, at)
    begin = scheme.end() if scheme else at
    value = _PLAIN.match(text, begin, begin + _MAX_JUDGED)
    if value is None or _is_innocent(value[0], "") or (not scheme and _is_said(text, value)):
        return None
    return _whole(text, value)


def _unquoted(text: str, found: re.Match[str], tells: Hint, plain: str) -> _Span | None:
    match = _PLAIN.match(text, found.end(), found.end() + _MAX_JUDGED)
    if match is None or _is_innocent(match[0], found["name"]):
        return None
    value, sign = match[0], found["sign"]
    is_number = not value.strip("0123456789:./,-")
    if sign is None:  # an option
        is_secret = not value.startswith("-") and not (is_number and tells == Hint.TEXT)
    elif ":" not in sign.replace(":=", "=") and sign == sign.strip():
        is_secret = not (is_number and tells == Hint.TEXT)
    else:
        # In a sentence, perhaps: the name of a file, a label, a word that is said of a secret.
        is_likely = tells == Hint.ALL and not found["quote"] and not (is_number and not sign[-1].isspace())
        is_secret = plain not in names().unsure and (
            (is_likely and not _is_said(text, match)) or (_is_random(value, plain) and not is_number)
        )
    return _whole(text, match) if is_secret else None


def _whole(text: str, value: re.Match[str]) -> _Span:
    """All of a secret by whose beginning it was known. It is read once: what follows is looked at behind it."""
    whole = _PLAIN.match(text, value.start())
    return _Span(*(whole or value).span())


def _is_innocent(value: str, name: str) -> bool:
    """What says something about a secret, is a place for one, or is source code."""
    plain = value.rstrip(".,:;!?").lower()
    return (
        plain in names().innocent_values
        or plain == name.lower()
        or plain.startswith(names().innocent_beginnings)
        or not any(map(str.isalnum, plain))
    )


def _is_random(value: str, plain: str) -> bool:
    """Likely no word. Parsers call by the name of token what they stumble over."""
    least = _TOKEN_LEAST if plain.startswith("token") else _RANDOM_LEAST
    return len(value) >= least and any(map(str.isdigit, value)) and not value.startswith("/")


def _is_said(text: str, value: re.Match[str]) -> bool:
    """A plain word that others follow: password: must have a digit."""
    return value[0].rstrip(".,:;!?").isalpha() and _PROSE.match(text, value.end()) is not None

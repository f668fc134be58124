"""Redaction of texts: passwords in URLs, values of secret names, tokens by their form.

Most texts have no secrets. So a quick test first searches for what every secret needs; only then is the text read.
Reading takes time in proportion to its length, whatever it contains.
"""

import re
from functools import cache
from typing import NamedTuple

from recoup.redaction.known import BOUNDARY, Hint, forms, hints, names, tokens, words_of

REDACTED = "[redacted]"
_RANDOM_LEAST = 6  # minimum length of a value that counts as random because it has a digit …
_TOKEN_LEAST = 12  # … and where it is only called a token
_MAX_JUDGED = 500  # characters of a value that are examined

# A name and a sign. The value after them is read separately: it may begin with another name.
_NAMED = re.compile(
    r"""(?<![\w.$-])
    (?P<name>(?:(?i:api|access|secret|private|auth|refresh|session|client)[ ](?=(?i:key|token|secret|pass|code|id)))?
      -{0,2}[A-Za-z_$][\w.$-]{1,99}+)
    (?P<quote>(?:\\{0,3}["'\]]){0,3})
    (?:(?P<sign>\s{0,3}(?:=>|:=|={1,3}|:(?!//))\s{0,5})
      |(?P<comma>\s{0,3},\s{0,3}(?:\\{0,3}["']value\\{0,3}["']\s{0,3}:\s{0,3})?(?=[bru]?\\{0,3}["']))
      |(?P<space>[ ]{1,3}))""",
    re.VERBOSE,
)
_QUOTED = re.compile(
    r"""[bruf]?(?:\\{1,3}"(?P<escaped>(?:[^"\\]++|\\(?!"))*)\\"|"(?P<double>(?:[^"\\]++|\\.)*)"
    |'(?P<single>(?:[^'\\]++|\\.|'')*)')""",
    re.VERBOSE | re.DOTALL,
)
# Up to white space; a sign ends it where something else follows.
_PLAIN = re.compile(
    r"""(?:[^\s"'`&;,)\]}>\\]++|["'`)\]}>\\](?=\w)|[&;](?!\s|$|["']|[\w.%-]{1,64}=)|,(?![\s"']|$|[\w.-]{1,64}[=:]))+"""
)
_SCHEME = re.compile(r"(?i:bearer|basic|token|negotiate|apikey|key)[ ]{1,3}")
_SIGNED = re.compile(r"(?i:digest|aws4-hmac-sha256|hmac|signature)[ ]{1,3}(?P<line>[^\r\n]++)")
_COOKIES = re.compile(r"""(?=[^\r\n"'\\=]{1,500}+=)(?P<line>[^\r\n"'\\]++)""")
_PROSE = re.compile(r"[.,;:!?]?[ \t]++\S")
_RUN = re.compile(r"""(?:[^\s"<>`']++|'(?![,\])}:;\s]|$))+""")
_LONG = re.compile(r"\S{19}")  # minimum length of a token
_WHOLE = re.compile(r"[\w.~%!$*+=-]++")


class _Span(NamedTuple):
    start: int
    end: int


def without_secrets(text: str) -> str:
    """A text without the secrets found in it; the same object if there are none."""
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
    """Whether a text may contain secrets. Most do not, and this test is their only cost."""
    return ("://" in text and "@" in text) or _has_name(text) or _has_token(text)


def _has_token(text: str) -> bool:
    long = _LONG.search(text)
    return long is not None and _token().search(text, long.start()) is not None


def _has_name(text: str) -> bool:
    has = text.lower().__contains__
    return any(map(has, names().hints)) or (has("=") and any(map(has, names().signed_hints)))


@cache
def _token() -> re.Pattern[str]:
    """The prefixes of all tokens, by first letter, because alternatives are tried one after the other."""
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
    return _replaced(found) if hints(())[found["name"]] in (Hint.TEXT, Hint.ALL) else found[0]


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
    """The position of the password of a URL, or of the user where that alone gives access."""
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
    return _Span(0, at) if is_web and at > 0 and _WHOLE.fullmatch(user) else None


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
    """The position of the secret after a name, if there is one."""
    hint, plain = _hint(text, found)
    is_header = plain in names().headers
    is_option = found["name"].startswith("--")  # also in a list: subprocess says ['mysql', '--password', 'x'] failed
    if (
        hint not in (Hint.TEXT, Hint.ALL)
        or (found["comma"] is not None and not ((is_header or is_option) and found["quote"]))
        or (found["space"] is not None and not is_option)
    ):
        return None
    quoted = _QUOTED.match(text, found.end())
    if quoted is None:
        return (_of_header if is_header and found["sign"] else _unquoted)(text, found, hint, plain)
    value = quoted[quoted.lastgroup or 0]
    if found["comma"] is not None and value.startswith("-"):  # another option
        return None
    if _is_innocent(value, found["name"]) or not (
        hint == Hint.ALL or is_header or found["quote"] or ":" not in found["sign"] or _is_random(value, plain)
    ):
        return None
    return _Span(*quoted.span(quoted.lastgroup or 0))


def _hint(text: str, found: re.Match[str]) -> tuple[Hint, str]:
    """What a name implies here, and its words joined. The query of a URL has its own names."""
    hint, before = hints(())[found["name"]], text[found.start() - 1 : found.start()]
    plain = "".join(words_of(found["name"])) if hint or before in ("?", "&") else ""
    in_query = before in ("?", "&") and plain in names().query and (found["sign"] or "").startswith("=")
    return (Hint.ALL if in_query else hint), plain


def _of_header(text: str, found: re.Match[str], _: Hint, plain: str) -> _Span | None:
    at = found.end()
    line = _SIGNED.match(text, at) or ("cookie" in plain and _COOKIES.match(text, at))
    if line:
        return _Span(*line.span("line"))
    scheme = _SCHEME.match(text, at)
    begin = scheme.end() if scheme else at
    value = _PLAIN.match(text, begin, begin + _MAX_JUDGED)
    if value is None or _is_innocent(value[0], "") or (not scheme and _is_prose(text, value)):
        return None
    return _whole(text, value)


def _unquoted(text: str, found: re.Match[str], hint: Hint, plain: str) -> _Span | None:
    match = _PLAIN.match(text, found.end(), found.end() + _MAX_JUDGED)
    if match is None or _is_innocent(match[0], found["name"]):
        return None
    value, sign = match[0], found["sign"]
    is_number = not value.strip("0123456789:./,-")
    if sign is None:  # an option
        is_secret = not value.startswith("-") and not (is_number and hint == Hint.TEXT)
    elif ":" not in sign.replace(":=", "=") and sign == sign.strip():
        is_secret = not (is_number and hint == Hint.TEXT)
    else:
        # Perhaps part of a sentence: a file name, a label, a word about a secret.
        is_likely = hint == Hint.ALL and not found["quote"] and not (is_number and not sign[-1].isspace())
        is_secret = plain not in names().unsure and (
            (is_likely and not _is_prose(text, match)) or (_is_random(value, plain) and not is_number)
        )
    return _whole(text, match) if is_secret else None


def _whole(text: str, value: re.Match[str]) -> _Span:
    """The whole of a secret that was found by its prefix. It is read once: the search continues after it."""
    whole = _PLAIN.match(text, value.start())
    return _Span(*(whole or value).span())


def _is_innocent(value: str, name: str) -> bool:
    """A word about a secret, a placeholder, or source code."""
    plain = value.rstrip(".,:;!?").lower()
    return (
        plain in names().innocent_values
        or plain == name.lower()
        or plain.startswith(names().innocent_beginnings)
        or not any(map(str.isalnum, plain))
    )


def _is_random(value: str, plain: str) -> bool:
    """Probably not a word. Parsers also call what they cannot read a token."""
    least = _TOKEN_LEAST if plain.startswith("token") else _RANDOM_LEAST
    return len(value) >= least and any(map(str.isdigit, value)) and not value.startswith("/")


def _is_prose(text: str, value: re.Match[str]) -> bool:
    """A plain word followed by others: password: must have a digit."""
    return value[0].rstrip(".,:;!?").isalpha() and _PROSE.match(text, value.end()) is not None

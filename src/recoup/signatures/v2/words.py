"""Which words of a sentence are the program's own, and which are values put into it.

A word counts when programs use it in their own sentences (vocabulary.txt), unless its place says that it is a value: in
quotes or brackets, after `=`, after "user" or "table", in capitals. What has a digit, a slash or an at sign in it is a
value. Words that are in no vocabulary count only where too few others remain: a name of something in a sentence that
says enough without it, or the whole of a short message or of one in another language.

Every pattern here takes time linear in the length of what it looks at: no part of one can match what the next one does.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

Told = list[tuple[str, str]]  # what was masked: kind and text

ENOUGH = 3  # so many words say what happened; others are left out then
SENTENCE_LEAST = 4  # so many known words make a quotation a sentence
WORDS_MOST = 40
TOKEN_MOST = 80  # a longer run without a space is data
CACHE_MOST = 50_000

_MARK = "\x01"  # stands for a value
_CALLED = "\x02"  # ends a name that had arguments in brackets
_QUOTED = re.compile(
    r'"[^"\n]{0,4000}"'
    r"|(?<!\w)'[^'\n]{0,4000}'(?!\w)"
    r"|`[^`'\n]{0,4000}[`']"
    r"|‘[^‘’\n]{0,4000}’|“[^“”\n]{0,4000}”|«[^«»\n]{0,4000}»|»[^«»\n]{0,4000}«|„[^„“”\n]{0,4000}[“”]|‹[^‹›\n]{0,4000}›"
    r"|「[^「」\n]{0,4000}」|『[^『』\n]{0,4000}』"
)
_QUOTE = re.compile(r"[\"'`‘“«»„‹「『]")
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s\"'<>]*")
_BRACKETS = re.compile(r"<[^<>\n]{0,4000}>|\{[^{}\n]{0,4000}\}|\[[^\[\]\n]{0,4000}\]|\([^()\n]{0,4000}\)")
_NESTED_MOST = 4
_PARTS = re.compile(r"[()\[\]{}<>,;|=:!?*\"`“”‘’«»]+|(?<![a-z])'|'(?![a-z])|\.{2,}|-{2,}|#{2,}|->|\.(?=\W|\Z)")
_AROUND = "()[]{}<>,;.:"
_EDGES = ".-+/%$#&~^_'"
_HEX = re.compile(r"[0-9a-fA-F]{8,}\Z")
_COLONS = re.compile(r"[0-9a-fA-F:.%]+\Z")
_DIGIT = re.compile(r"\d")
_SHORT = re.compile(r"[\d.,]+\w{0,2}")
_FOREIGN = re.compile(r"[^\W\d_]+")
_THROWN = ("Exception", "Error")
_VERB = ("ed", "ing")

# What is known of a token, whatever stands beside it.
_COLON, _NUMBER, _CAPITALS, _ANNOUNCES, _NAME, _EQUALS, _CALL, _KNOWN, _DOUBTFUL = 1, 2, 4, 8, 16, 32, 64, 128, 256
# How sure it is that a word is the program's own: perhaps, likely, yes.
_PERHAPS, _LIKELY, _SURE = 0, 1, 2


def _lists() -> dict[str, frozenset[str]]:
    found = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
    return {name: frozenset(words.split()) for name, words in found.items()}


_LISTS = _lists()
_VALUES, _TYPES, _UNITS = _LISTS["values"], _LISTS["types"], _LISTS["units"]
_ACCOUNTS, _BEFORE_ACCOUNTS = _LISTS["accounts"], _LISTS["before_accounts"]
_FOUND, _BEFORE_CODES = _LISTS["found"], _LISTS["before_codes"]
_ANNOUNCERS, _NOT_NAMES, _BEFORE_STATES = _LISTS["announcers"], _LISTS["not_names"], _LISTS["before_states"]
_VOCABULARY = frozenset(files(__package__).joinpath("vocabulary.txt").read_text("utf-8").split())

# What a token is depends on itself alone, and most tokens come again and again.
_tokens: dict[str, tuple[str, int, str]] = {}


def counting(line: str, told: Told | None = None) -> tuple[str, ...]:
    """The words of a line that count, in their order; `*` for what was masked where they alone say too little."""
    text = _without_enclosed(line, told)
    words, standing = _read(text, told)
    sure = standing.count(_SURE)
    if sure < ENOUGH and _MARK in text:
        within = _quoted_sentence(line, least=SENTENCE_LEAST if sure > 1 else 2)
        if within:
            inner, inner_standing = _read(_without_enclosed(within, None), None)
            words, standing = words + inner, standing + inner_standing
            if told is not None:
                told[:] = [one for one in told if one[1][1:-1] != within]
    return _enough(words, standing, told)[:WORDS_MOST]


def _quoted_sentence(line: str, least: int) -> str:
    """The longest quotation, if it is a sentence: a message within a message."""
    found = max((quoted[0][1:-1] for quoted in _QUOTED.finditer(line)), key=len, default="")
    known = sum(word in _VOCABULARY for word in found.lower().split())
    return found if known >= least else ""


def _read(text: str, told: Told | None) -> tuple[list[str], list[int]]:
    """The words that may count, and how sure it is of each that it is the program's own."""
    words: list[str] = []
    standing: list[int] = []
    flags_before, word_before = 0, ""
    tokens = text.split()
    for place, token in enumerate(tokens):
        known = _tokens.get(token)
        if known is None:
            known = _token(token)
            if len(token) <= TOKEN_MOST and not known[1] & _NUMBER:  # a number does not come again
                if len(_tokens) >= CACHE_MOST:
                    _tokens.clear()
                _tokens[token] = known
        word, flags, kind = known
        if word:
            kind = ""
            low = word.lower()
            if flags_before & _EQUALS:
                kind = "value"
            elif low in _TYPES:
                kind = "type"
            elif low in _UNITS and place and (flags_before & _NUMBER or not word_before):
                kind = "unit"
            elif flags_before & _ANNOUNCES and low not in _NOT_NAMES and not low.endswith(_VERB):
                if flags & _KNOWN and place == len(tokens) - 1:
                    flags |= _DOUBTFUL  # user root; but also: queue full
                else:
                    kind = "name"
            elif low in _ACCOUNTS and word_before in _BEFORE_ACCOUNTS:
                kind = "account"
            elif flags & _CAPITALS and (word_before in _BEFORE_STATES or (flags_before & _COLON and place > 1)):
                kind = "state"
            elif (place and _is_named(word, flags)) or (
                word_before == "for" and tokens[place + 1 : place + 2] == ["from"]
            ):
                kind = "name"
            elif flags_before & _COLON and word_before.lower() in _FOUND:
                kind = "value"
            elif flags_before & _COLON and place == len(tokens) - 1 and " " not in word:
                if place > 1 and not flags & _KNOWN:
                    kind = "value"
                flags |= _DOUBTFUL  # no such column: price; but also: cannot connect: timeout
            if kind:
                word = ""
        if word:
            words.append(word)
            standing.append(_standing(word, flags, place))
            if told is not None and word[-1] == "=":
                told.append(("value", token.partition("=")[2]))
        else:
            if kind == "number" and word_before.lower() in _BEFORE_CODES:
                words.append(token.strip(_AROUND))  # error code 1205: all that there is, where nothing else is said
                standing.append(_PERHAPS)
            elif not words or words[-1] != "*":
                words.append("*")
                standing.append(_PERHAPS)
            if told is not None and token != _MARK:
                told.append((kind or "sign", token.rstrip(_CALLED)))
        flags_before, word_before = flags, word
    return words, standing


def _is_named(word: str, flags: int) -> bool:
    """Whether a word amid a sentence is the name of something: called with arguments, or with dots and underscores."""
    return bool(flags & _CALL) or (bool(flags & _NAME) and not word.isalpha() and not word.endswith(_THROWN))


def _enough(words: list[str], standing: list[int], told: Told | None) -> tuple[str, ...]:
    """Those that are surely the program's own, if they are enough; else those that are likely; else all."""
    for least, kind in ((_SURE, "name in capitals or unknown word"), (_LIKELY, "unknown word")):
        if len(standing) - _below(standing, least) >= ENOUGH:
            if told is not None:
                told += [
                    (kind, word)
                    for word, sure in zip(words, standing, strict=True)
                    if sure < least and word != "*" and not _DIGIT.search(word)
                ]
            return tuple([word for word, sure in zip(words, standing, strict=True) if sure >= least])
    if len(words) - words.count("*") >= 2:
        first = 1 if words[0] == "*" else 0
        last = len(words) - 1 if words[-1] == "*" else len(words)
        return tuple(words[first:last])
    return tuple(words)


def _below(standing: list[int], least: int) -> int:
    return standing.count(_PERHAPS) + (standing.count(_LIKELY) if least == _SURE else 0)


def _standing(word: str, flags: int, place: int) -> int:
    if flags & _NAME:
        return _SURE if word.endswith(_THROWN) or (place == 0 and flags & (_COLON | _CALL)) else _PERHAPS
    if not flags & _KNOWN:
        return _PERHAPS
    return _LIKELY if flags & (_CAPITALS | _DOUBTFUL) else _SURE


def without_quoted(text: str) -> str:
    """The text with a mark for each quotation."""
    return _QUOTED.sub(f" {_MARK} ", text) if _QUOTE.search(text) else text


def _without_enclosed(text: str, told: Told | None) -> str:
    """The text with marks for addresses of the web, for what is quoted, and for what stands in brackets."""
    if "://" in text:
        if told is not None:
            told += [("address", found[0]) for found in _URL.finditer(text)]
        text = _URL.sub(f" {_MARK} ", text)
    if " time zone" in text:
        text = text.replace(" with time zone", "").replace(" without time zone", "")  # parts of a type's name
    if told is not None:
        told += [("quoted", found[0]) for found in _QUOTED.finditer(text)]
    text = without_quoted(text)
    for _ in range(_NESTED_MOST):
        outside = _BRACKETS.sub(_bracketed, text)
        if outside == text:
            break
        if told is not None:
            told += [("bracketed", found[0]) for found in _BRACKETS.finditer(text) if _is_masked(found)]
        text = outside
    return text


def _bracketed(found: re.Match[str]) -> str:
    if not _is_masked(found):
        return f" {found[0][1:-1]} "
    return f"{_CALLED} {_MARK} " if found[0][0] == "(" and _is_attached(found) else f" {_MARK} "


def _is_attached(found: re.Match[str]) -> bool:
    before = found.string[found.start() - 1] if found.start() else " "
    return before.isalnum() or before == "_"


def _is_masked(found: re.Match[str]) -> bool:
    """Objects, records, lists, indexes and arguments are values; a remark in brackets is not."""
    text = found[0]
    if text[0] in "<{" or "," in text or "/" in text or _MARK in text or text.count("=") > 1:
        return True
    return (text[0] == "[" and " " not in text) or _is_attached(found)


def _token(token: str) -> tuple[str, int, str]:
    """A token's words, what is known of it, and if it has no word that may count: what kind of value it is."""
    if token == _MARK:
        return "", 0, ""
    if token == "=":
        return "", _EQUALS, "sign"
    flags = 0
    if token[-1] == _CALLED:
        flags |= _CALL
        token = token[:-1] or "()"
    elif token[-1] == ":":
        flags |= _COLON
    elif token[-1] == "=":
        flags |= _EQUALS
    if (bare := token.strip(_AROUND)).isalnum() and _DIGIT.search(bare) and bare.isascii():
        return "", flags | _NUMBER, "number"
    is_ascii = token.isascii()
    if len(token) > TOKEN_MOST and is_ascii:
        return "", flags, "data"
    if token[0] in "/\\":
        return "", flags, "path"
    if "=" in token:
        return _key(token, flags)
    if "@" in token or "\\" in token or token.count("/") > 1:
        return "", flags, "path"
    if not is_ascii and token[0].isdigit() and len(token) < 8 and _SHORT.fullmatch(token):
        return "", flags | _NUMBER, "number"  # 3.5µs
    if not is_ascii:  # languages that write without spaces: the letters, without the numbers between them
        return " ".join(_FOREIGN.findall(token[: 10 * TOKEN_MOST])), flags, "sign"
    if token.count(":") > 1 and _COLONS.match(token):
        return "", flags | _NUMBER, "address"
    return _plain(token, flags)


def _key(token: str, flags: int) -> tuple[str, int, str]:
    """`key=value`: the key counts."""
    found = [_word(part.strip(_EDGES)) for part in _PARTS.split(token.partition("=")[0])]
    words = [word for word, _ in found if word]
    if not words:
        return "", flags, "value"
    is_known = all(word.lower() in _VOCABULARY for word in words)
    return " ".join(words) + "=", flags | (_KNOWN if is_known else 0), ""


def _plain(token: str, flags: int) -> tuple[str, int, str]:
    words: list[str] = []
    is_known = True
    for part in _PARTS.split(token):
        if words and part.isupper() and ":" in token:
            break  # state:RUNNING
        word, found = _word(part.strip(_EDGES))
        flags |= found & _NAME
        if word:
            words.append(word)
            is_known = is_known and word.lower() in _VOCABULARY
        elif not words:
            flags |= found & _NUMBER
    if not words:
        return "", flags & ~_NAME, "number" if flags & _NUMBER else _kind(token)
    if is_known:
        flags |= _KNOWN
    if len(words) > 1:
        return " ".join(words), flags & ~_NAME, ""
    if words[0].isupper():
        flags |= _CAPITALS
    if words[0].lower() in _ANNOUNCERS and not flags & _COLON:
        flags |= _ANNOUNCES
    return words[0], flags, ""


def _kind(token: str) -> str:
    if not token.isalpha():
        return "sign"
    return "value" if len(token) > 1 else "letter"


def _word(word: str) -> tuple[str, int]:
    """The word if it may count, and whether it is a number, or a name of the program's own such as NameSystem.add."""
    if len(word) < 2:
        return "", _NUMBER if word.isdigit() else 0
    if word.isalpha():
        if _HEX.match(word) or word in _VALUES or word.lower() in _VALUES:
            return "", 0
        is_name = not (word.islower() or word.isupper() or word.istitle())
        return word, _NAME if is_name else 0
    if _DIGIT.search(word):
        return "", _NUMBER
    return word, _NAME if "." in word or "_" in word else 0

"""What a token is, whatever is next to it: a value, or words that may count."""

import re
import tomllib
from importlib.resources import files

MAX_TOKEN = 80  # a longer run without a space is data
MAX_CACHE = 50_000

MARK = "\x01"  # a value that was enclosed
CALLED = "\x02"  # ends a name that had arguments in brackets
AROUND = "()[]{}<>,;.:"  # signs that a token may be wrapped in

# What is known of a token.
COLON = 1  # it ends with one
NUMBER = 2
CAPITALS = 4
ANNOUNCES = 8  # the next word is a name
NAME = 16  # of the program's own, such as NameSystem.add
EQUALS = 32  # what follows is a value
CALL = 64  # it had arguments in brackets
KNOWN = 128  # its words are in the vocabulary
LISTED = 256  # a type, a unit or an account: its place decides


# Words that may count, what is known of it, and if it has none: what kind of value it is. A plain tuple: thousands are
# kept, and made in the time that a message takes.
Token = tuple[str, int, str]

_PARTS = re.compile(r"[()\[\]{}<>,;|=:!?*\"`“”‘’«»]+|(?<![a-z])'|'(?![a-z])|\.{2,}|-{2,}|#{2,}|->|\.(?=\W|\Z)")
_EDGES = ".-+/%$#&~^_'"
_HEX = re.compile(r"[0-9a-fA-F]{8,}\Z")
_COLONS = re.compile(r"[0-9a-fA-F:.%]+\Z")
_DIGIT = re.compile(r"\d")
_SHORT = re.compile(r"[\d.,]+\w{0,2}")
_FOREIGN = re.compile(r"[^\W\d_]+")


def _lists() -> dict[str, frozenset[str]]:
    found = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
    return {name: frozenset(words.split()) for name, words in found.items()}


LISTS = _lists()
VOCABULARY = frozenset(files(__package__).joinpath("vocabulary.txt").read_text("utf-8").split())
_VALUES, _ANNOUNCERS = LISTS["values"], LISTS["announcers"]
_BEFORE_VALUES = LISTS["announcers"] | LISTS["before_states"]
_LISTED = LISTS["types"] | LISTS["units"] | LISTS["accounts"]

# What a token is depends on itself alone, and most tokens come again and again.
kept: dict[str, Token] = {}


def token_of(text: str) -> Token:
    """What a token is that is not kept."""
    found = _token(text)
    if len(text) <= MAX_TOKEN and not found[1] & NUMBER:  # a number does not come again
        if len(kept) >= MAX_CACHE:
            kept.clear()
        kept[text] = found
    return found


def _token(token: str) -> Token:
    if token.isalpha() and token.isascii():  # as most are
        return _plain(token, 0)
    if token == MARK:
        return "", 0, ""
    if token == "=":
        return "", EQUALS, "sign"
    flags = 0
    if token[-1] == CALLED:
        flags |= CALL
        token = token[:-1] or "()"
    elif token[-1] == ":":
        flags |= COLON
    elif token[-1] == "=":
        flags |= EQUALS
    if (bare := token.strip(AROUND)).isalnum() and _DIGIT.search(bare) and bare.isascii():
        return "", flags | NUMBER, "number"
    is_ascii = token.isascii()
    if len(token) > MAX_TOKEN and is_ascii:
        return "", flags, "data"
    if token[0] in "/\\":
        return "", flags, "path"
    if "=" in token:
        return _key(token, flags)
    if "@" in token or "\\" in token or token.count("/") > 1:
        return "", flags, "path"
    if not is_ascii and token[0].isdigit() and len(token) < 8 and _SHORT.fullmatch(token):
        return "", flags | NUMBER, "number"  # 3.5µs
    if not is_ascii:  # languages that write without spaces: the letters, without the numbers between them
        return " ".join(_FOREIGN.findall(token[: 10 * MAX_TOKEN])), flags, "sign"
    if token.count(":") > 1 and _COLONS.match(token):
        return "", flags | NUMBER, "address"
    return _plain(token, flags)


def _key(token: str, flags: int) -> Token:
    """`key=value`: the key counts."""
    found = [_word(part.strip(_EDGES)) for part in _PARTS.split(token.partition("=")[0])]
    words = [word for word, _ in found if word]
    if not words:
        return "", flags, "value"
    is_known = all(word.lower() in VOCABULARY for word in words)
    return " ".join(words) + "=", flags | (KNOWN if is_known else 0), ""


def _plain(token: str, flags: int) -> Token:
    words: list[str] = []
    is_known = True
    is_pair = ":" in token and "::" not in token
    for part in _PARTS.split(token) if not token.isalpha() else (token,):
        if words and is_pair and (part.isupper() or not part.isalnum() or words[-1].lower() in _BEFORE_VALUES):
            break  # state:RUNNING, action:shop.load, type:create
        word, found = _word(part.strip(_EDGES))
        flags |= found & NAME
        if word:
            words.append(word)
            is_known = is_known and word.lower() in VOCABULARY
        elif not words:
            flags |= found & NUMBER
    if not words:
        return "", flags & ~NAME, "number" if flags & NUMBER else _kind(token)
    if len(words) > 1:
        flags &= ~NAME
        if not is_known and (known := [word for word in words if word.lower() in VOCABULARY]):
            words, is_known = known, True
    if is_known:
        flags |= KNOWN
    if len(words) > 1:
        return " ".join(words), flags, ""
    if words[0].isupper():
        flags |= CAPITALS
    low = words[0].lower()
    if low in _ANNOUNCERS and not flags & COLON:
        flags |= ANNOUNCES
    if low in _LISTED:
        flags |= LISTED
    return words[0], flags, ""


def _kind(token: str) -> str:
    if not token.isalpha():
        return "sign"
    return "value" if len(token) > 1 else "letter"


def _word(word: str) -> tuple[str, int]:
    """The word if it may count, and whether it is a number, or a name of the program's own such as NameSystem.add."""
    if len(word) < 2:
        return "", NUMBER if word.isdigit() else 0
    if word.isalpha():
        if _HEX.match(word) or word in _VALUES or word.lower() in _VALUES:
            return "", 0
        is_name = not (word.islower() or word.isupper() or word.istitle())
        return word, NAME if is_name else 0
    if _DIGIT.search(word):
        return "", NUMBER
    return word, NAME if "." in word or "_" in word else 0

"""A page as a reader sees it: its bytes decoded, its words without markup.

Pages come from strangers. An HTML parser takes quadratic time over tags that are nested by the ten thousand, and over
attributes of one tag by the thousand. So all tags but those that matter for the text are taken out first, in one pass,
and what is left has neither.
"""

import re
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from recoup.verification.names import folded
from recoup.verification.sites import WebPage

MAX_META_CHARACTERS = 16 * 1024
SNIFFED_BYTES = 1024

_FLAGS = re.IGNORECASE | re.ASCII
_MARKUP = re.compile(r"<(?!/?(?:title|script|style)\b)[a-z/!?][^<>]*>?", _FLAGS)
# Without attributes, so that no quote in one can swallow what follows.
_KEPT_TAG = re.compile(r"<(/?(?:title|script|style))\b[^<>]*>?", _FLAGS)
_META = re.compile(r"<meta\b[^<>]{0,2000}>", _FLAGS)
# One class for what may come before the name: blanks, quote, blanks would be tried in every way they can be cut.
_META_CHARSET = re.compile(rb"<meta\b[^<>]{0,200}?charset\s*=[\s\"']*([a-z0-9_:-]{1,40})", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r"charset\s*=[\s\"']*([a-z0-9_:-]{1,40})", _FLAGS)
_DESCRIPTIVE_META = frozenset(
    {"og:site_name", "og:title", "description", "og:description", "application-name", "author"}
)

# A fixed list: Python knows more codecs than pages may ask for, some of them slow, and remembers each unknown name.
_CHARSETS = {
    **dict.fromkeys(("utf-8", "utf8"), "utf-8"),
    "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
    **dict.fromkeys(("us-ascii", "ascii", "iso-8859-1", "iso8859-1", "latin1", "latin-1", "windows-1252"), "cp1252"),
    **{f"iso-8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)},
    **{f"windows-{n}": f"cp{n}" for n in range(1250, 1259) if n != 1252},
    **{name: name for name in ("gbk", "gb2312", "gb18030", "big5", "euc-kr", "euc-jp", "shift_jis", "iso-2022-jp")},
    **{name: name for name in ("koi8-r", "koi8-u")},
}  # fmt: skip
# A byte that is not UTF-8 reads as it would have in the commonest older charset.
_STRAY_BYTES = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


class Reading(NamedTuple):
    """The words of a page."""

    title: str  # folded
    words: str  # folded: title, descriptive meta tags and text
    plain: str  # the same in lower case, with its punctuation: domains have dots


def is_text(page: WebPage) -> bool:
    """Whether a page is there to be read, by its type, or by its first bytes when it has none."""
    kind = page.content_type.partition(";")[0].strip().lower()
    if not kind:
        return b"\0" not in page.body[:SNIFFED_BYTES] or page.body[:2] in (b"\xff\xfe", b"\xfe\xff")
    return kind.startswith("text/") or kind in ("application/xhtml+xml", "application/xml")


def read(page: WebPage) -> Reading:
    """The text of a page."""
    source = _without_comments(decoded(page.body, _charset(page)))
    # Meta tags come last and are bounded: a quote that one of them leaves open swallows nothing but others of them.
    metas = "".join(_META.findall(source))[:MAX_META_CHARACTERS]
    tree = LexborHTMLParser(_KEPT_TAG.sub(r"<\1>", _MARKUP.sub(" ", source)) + metas)
    first_title = tree.css_first("title")
    title = "" if first_title is None else first_title.text()
    tree.strip_tags(["script", "style", "title"])
    text = "" if tree.root is None else tree.root.text()
    whole = "\n".join((title, *_descriptions(tree), text))
    return Reading(title=folded(title), words=folded(whole), plain=whole.lower())


def decoded(raw: bytes, charset: str) -> str:
    """Bytes as text, whatever is in them."""
    if charset != "utf-8":
        return raw.decode(charset, "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape").translate(_STRAY_BYTES)


def _without_comments(source: str) -> str:
    """A page without its comments. One that never ends is left in: it may be inside a script."""
    kept, at = [], 0
    while (start := source.find("<!--", at)) >= 0 and (end := source.find("-->", start + 4)) >= 0:
        kept.append(source[at:start])
        at = end + len("-->")
    return "".join((*kept, source[at:]))


def _descriptions(tree: LexborHTMLParser) -> list[str]:
    """What the page says about itself for search engines and previews."""
    return [
        meta.attributes.get("content") or ""
        for meta in tree.css("meta")
        if (meta.attributes.get("name") or meta.attributes.get("property") or "").lower() in _DESCRIPTIVE_META
    ]


def _charset(page: WebPage) -> str:
    """By the header, else by a meta tag, else UTF-8."""
    if page.body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    match = _HEADER_CHARSET.search(page.content_type)
    if match is not None and match[1].lower() in _CHARSETS:
        return _CHARSETS[match[1].lower()]
    said = _META_CHARSET.search(page.body[:SNIFFED_BYTES])
    return _CHARSETS.get(said[1].decode("ascii").lower(), "utf-8") if said is not None else "utf-8"

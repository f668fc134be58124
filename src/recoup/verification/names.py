"""Company names, as they are compared: without case, accents, punctuation and legal form."""

import re
import unicodedata

# Words for the legal form of a company, not for which company it is. Compared after folding.
LEGAL_FORMS = frozenset({
    "ab", "ag", "aps", "as", "bv", "co", "company", "corp", "corporation", "gmbh", "inc", "incorporated", "kg", "kgaa",
    "kk", "lc", "limited", "llc", "lllp", "llp", "lp", "ltd", "na", "nv", "ohg", "oy", "pa", "pc", "plc", "pllc",
    "pty", "sa", "sarl", "sas", "se", "spa", "srl", "ug",
})  # fmt: skip
# Typewriter and typographic ones, the accents that are typed for them, and the okina of Hawai'i.
_APOSTROPHES = re.compile("['`\u2018\u2019\u00b4\u02bb\u02bc]")
_INITIALS = re.compile(r"\.(?<=(?<![^\W_])[^\W_]\.)(?=[^\W_](?![^\W_]))")  # the dot in N.Y., not that in example.com
_ACCENTS = re.compile("[\u0300-\u036f]+")
_NOT_IN_WORDS = re.compile(r"[\W_]+")
# No part of a word: marks that would be taken apart into letters, and a hyphen that is seen only where a line ends.
_MARKS = str.maketrans({"\u2122": " ", "\u2120": " ", "\u00ad": None})
# Letters with a stroke, and two in one: they cannot be taken apart, and are typed like this.
_TYPED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "æ": "ae", "œ": "oe", "þ": "th"})
MAX_FOLDED = 400_000  # characters: there are letters that stand for a whole sentence
# Characters taken apart at once: accents on one letter are sorted, in quadratic time, and a page may have a letter with
# a hundred thousand.
_AT_ONCE = 500


def folded(text: str) -> str:
    """Words in lower case, without accents and punctuation, one space between them; & reads as and."""
    if not text.isascii():
        text = _ACCENTS.sub("", _taken_apart(text.translate(_MARKS))[:MAX_FOLDED]).casefold().translate(_TYPED)
    text = _APOSTROPHES.sub("", text.casefold().replace("&", " and "))
    return _NOT_IN_WORDS.sub(" ", _INITIALS.sub("", text)).strip()


def _taken_apart(text: str) -> str:
    """Letters and their accents, one behind the other."""
    return "".join(unicodedata.normalize("NFKD", text[at : at + _AT_ONCE]) for at in range(0, len(text), _AT_ONCE))


def company_words(name: str) -> str:
    """The words that tell a company from others: folded, without "the" before or behind, and without legal forms."""
    words = folded(name).split()
    told = words[1:] if words[:1] == ["the"] else words[:-1] if words[-1:] == ["the"] else words[:]
    while told and told[-1] in LEGAL_FORMS:
        told.pop()
    if told[-1:] == ["and"]:  # Smith & Co.
        told.pop()
    # A Co., The Company: what is left would be on every page.
    return " ".join(words if told in ([], ["a"], ["an"], ["the"], ["and"], ["of"]) else told)

"""Categories by the names, numbers and words of the field; which rule decided; and rules of one's own in front."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.errors import Category
from recoup.signatures import OwnRule, category, judge, own_rule

TRANSIENT, OPERATIONAL, STRUCTURAL = Category.TRANSIENT, Category.OPERATIONAL, Category.STRUCTURAL
RULES: dict[str, Any] = tomllib.loads(files("recoup.signatures").joinpath("categories.toml").read_text("utf-8"))
NAMED = [one for one in RULES["vocabulary"] if "marks" not in one and one["name"] not in ("http", "sqlstate", "late")]


@pytest.mark.parametrize(
    ("message", "code", "expected"),
    [
        ("Read timed out", None, TRANSIENT),
        ("", "RATE_LIMITED rate limit", TRANSIENT),
        ('column "x" does not exist', None, STRUCTURAL),
        ("no EIN was found", None, OPERATIONAL),
        # HTTP: RFC 9110, 6585
        ("", "503", TRANSIENT),
        ("request failed with status code 429", None, TRANSIENT),
        ("", "HTTP 404", OPERATIONAL),
        ("", "415", STRUCTURAL),
        # SQLSTATE: ISO 9075 and PostgreSQL's appendix A
        ("could not do it", "40P01", TRANSIENT),
        ("could not do it", "57P03", TRANSIENT),
        ("could not do it", "23505", OPERATIONAL),
        ("could not do it", "42501", OPERATIONAL),
        ("could not do it", "42703", STRUCTURAL),
        ("could not do it", "22P02", STRUCTURAL),
        ("ERROR: no such thing (SQLSTATE 40001)", None, TRANSIENT),
        # gRPC: status codes and their use
        ("rpc error: code = DeadlineExceeded desc = gave up", None, TRANSIENT),
        ("5 of 7", "INVALID_ARGUMENT", STRUCTURAL),
        ("5 of 7", "NOT_FOUND", OPERATIONAL),
        # POSIX
        ("connect ECONNREFUSED 127.0.0.1:5432", None, TRANSIENT),
        ("[Errno 28] No space left on device: '/srv/a'", None, OPERATIONAL),
        # Kafka: the table's column retriable
        ("it moved", "NOT_LEADER_OR_FOLLOWER", TRANSIENT),
        ("it moved", "TOPIC_AUTHORIZATION_FAILED", OPERATIONAL),
        # Clouds
        ("An error occurred (ThrottlingException) when calling the PutItem operation: no", None, TRANSIENT),
        ("An error occurred (AccessDenied) when calling the PutObject operation: no", None, OPERATIONAL),
        ("later", "ServerBusy", TRANSIENT),
        # Databases' own
        ("ORA-00060: deadlock detected while waiting for resource", None, TRANSIENT),
        ("ORA-00942: table or view does not exist", None, STRUCTURAL),
        ("Lock wait timeout exceeded; try restarting transaction", "1205", TRANSIENT),
        # Languages
        ("java.net.SocketTimeoutException: Read", None, TRANSIENT),
        ("TypeError: unsupported operand type(s) for +: 'int' and 'str'", None, STRUCTURAL),
        ("KeyError: 'price'", None, STRUCTURAL),
        ("PermissionError: [Errno 13]", None, OPERATIONAL),
        # Kubernetes
        ("the object has been modified; please apply your changes to the latest version", "Conflict", OPERATIONAL),
        # The advice to send the same request again, whatever the code beside it is made of
        ("The partition is moving. Retry the operation.", "PARTITION_NOT_FOUND_HERE", TRANSIENT),
        ("Please rerun the job.", "INVALID_WORKER_STATE", TRANSIENT),
        ("The object was changed meanwhile; submit the request again", "SCHEMA_RACE", TRANSIENT),
        ("Retry the request with a delay", None, TRANSIENT),
        ("Correct the file and retry the pipeline run", "PIPELINE_FILE", OPERATIONAL),
        ("Use a valid date format and try again", None, STRUCTURAL),
        ("Retry the request with a smaller page size", None, OPERATIONAL),
        # Quotas and limits: of a rate, of a day or a plan, of what a program can hold
        ("429 too many requests per minute", None, TRANSIENT),
        ("The daily quota of API calls is exceeded", None, OPERATIONAL),
        ("You have used up the credits of your plan", None, OPERATIONAL),
        ("too many columns in the result", None, STRUCTURAL),
        ("maximum recursion depth exceeded", None, STRUCTURAL),
        # Five digits are an SQLSTATE only if they are listed
        ("the database has reached its size", "40544", OPERATIONAL),
        # Nothing known
        ("", None, OPERATIONAL),
        ("Lorem ipsum dolor", None, OPERATIONAL),
    ],
)
def test_categories(message: str, code: str | None, expected: Category) -> None:
    """As the specifications have it; what nothing decides is OPERATIONAL."""
    assert category(message, code) is expected, judge(message, code).explain()


@pytest.mark.parametrize("vocabulary", NAMED, ids=lambda one: str(one["name"]))
def test_every_name_decides_as_it_is_listed(vocabulary: dict[str, Any]) -> None:
    """As the code of an error that says nothing else; and names do not contradict each other."""
    for kind in Category:
        for name in vocabulary.get(kind, ()):
            found = judge("", name.replace("*", "Some"))
            assert found.category is kind, f"{name}: {found.explain()}"
            assert found.rule.startswith(("a name of", "a beginning of", "an ending of"))


@pytest.mark.parametrize("vocabulary", RULES["vocabulary"], ids=lambda one: str(one["name"]))
def test_every_vocabulary_says_where_it_is_from(vocabulary: dict[str, Any]) -> None:
    """And holds no name twice."""
    names = [name for kind in Category for name in vocabulary.get(kind, ())]
    assert all((vocabulary["source"], vocabulary["about"], names))
    assert len(names) == len(set(names))


def test_every_phrase_decides() -> None:
    """Each is of words that a message can have, and is met by itself."""
    for wording in RULES["wording"]:
        for phrase in wording["phrases"]:
            words = phrase.replace("*", "").replace("…", "really").split()
            assert all(word.strip("'").replace("'", "").isalnum() for word in words), phrase
            found = judge(" ".join(words))
            assert found.rule != "nothing known decides: the middle", phrase


def test_a_number_counts_only_where_the_words_say_whose_it_is() -> None:
    """1205 is a lock wait of MySQL's; elsewhere it is a number."""
    assert judge("mysql says so", "1205").rule.startswith("a number of MySQL")
    assert judge("it says so", "1205").category is OPERATIONAL


@pytest.mark.parametrize(
    "message",
    [
        "db job cb725870-aa01-4e72-8db8-6a0894201164 took 7780 s",
        "the sql query took 926 ms",
        "mysql backup 1205 of 2000 rows written",
        "azure blob container 40501 is listed",
        "order rejected (40123)",
        "500 items rejected by review",
    ],
)
def test_a_number_that_is_no_error_says_nothing(message: str) -> None:
    """An id, an amount or a count that happens to be the number of an error."""
    assert judge(message).category is OPERATIONAL, judge(message).explain()


@pytest.mark.parametrize("printed", ["(1213, 'Q') from mysql", "mysql error 1213: Q", "mysql: [1213] Q"])
def test_a_number_is_that_of_an_error_where_it_is_called_so(printed: str) -> None:
    """As clients print it."""
    assert judge(printed).rule.startswith("a number of MySQL")


def test_what_decided_is_told() -> None:
    """The rule, and what in the text it was about."""
    assert judge("", "ECONNRESET").explain() == "TRANSIENT: a name of POSIX errno names (ECONNRESET)"
    assert "words" in judge("malformed request: invalid syntax").explain()


RULES_OF_ONES_OWN = [
    own_rule(STRUCTURAL, "VENDOR_*", "quota … gone"),
    own_rule(TRANSIENT, "VENDOR_*", None),
    own_rule(OPERATIONAL, None, "sync* paused"),
    own_rule(TRANSIENT, None, "syntax error"),
    own_rule(STRUCTURAL, None, "teapot"),
    own_rule(STRUCTURAL, None, "bad"),
]


@pytest.mark.parametrize(
    ("message", "code", "expected"),
    [
        ("the quota for today is gone", "VENDOR_7", STRUCTURAL),
        ("the quota is gone for ever and ever", "OTHER", None),
        ("anything", "VENDOR_7", TRANSIENT),
        ("anything", "vendor_7", None),
        ("Synchronisation paused", None, OPERATIONAL),
        ("paused", None, None),
        ("a syntax error, which this vendor has on Mondays", None, TRANSIENT),
        ("it is a teapot, and short", None, STRUCTURAL),
        ("a teapot", None, STRUCTURAL),
        ("batch 12bc83d0-df6c-4a08-bad1-6a0894201164 was cut off", None, None),  # an id is no word
    ],
)
def test_rules_of_ones_own_go_in_front(message: str, code: str | None, expected: Category | None) -> None:
    """The first that is met decides, before all others; those that are not met change nothing."""
    found = judge(message, code, RULES_OF_ONES_OWN)
    if expected is None:
        assert found == judge(message, code)
    else:
        assert (found.category, found.rule) == (expected, "a rule of the policy")


@given(
    st.lists(st.text(alphabet="ab1*…' -", max_size=12), max_size=4),
    st.text(alphabet="ab1-' ", max_size=40),
    st.sampled_from([None, "a", "ab*"]),
)
def test_no_rule_fails(phrases: list[str], message: str, code: str | None) -> None:
    """Whatever is written in it, and wherever in a message it is met."""
    rules = [own_rule(TRANSIENT, code, phrase) for phrase in phrases]
    assert judge(message, "ab", rules).category in Category


def test_a_rule_is_as_it_is_written() -> None:
    """Words are compared in lower case."""
    assert own_rule(TRANSIENT, None, "* x").phrase == ("x",)
    assert own_rule(TRANSIENT, "X", "Quota … GONE") == OwnRule(TRANSIENT, "X", ("quota", "…", "gone"))

"""Of a trace the thrown error and the innermost own frame count; lines, addresses, libraries, outer frames do not."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

from recoup.signatures import signature

# A trace of each language: its own function, the number of a line in it, and the value that made it fail.
Trace = Callable[[str, int, str], str]


def python(function: str, line: int, value: str) -> str:
    return f"""Traceback (most recent call last):
  File "/srv/{value}/app/main.py", line {line}, in run
    {function}(order)
  File "/srv/{value}/app/jobs.py", line {line + 3}, in {function}
    return total(order["{value}"])
           ^^^^^^^^^^^^^^^^^^^^
  File "/srv/{value}/venv/lib/python3.12/site-packages/shop/sums.py", line {line}, in total
    raise PriceError(f"no price for {{key!r}}")
shop.sums.PriceError: no price for '{value}'
"""


def chained(function: str, line: int, value: str) -> str:
    return f"""Traceback (most recent call last):
  File "/usr/lib/python3.12/json/decoder.py", line {line}, in raw_decode
    raise JSONDecodeError("Expecting value", s, err.value) from None
json.decoder.JSONDecodeError: Expecting value: line 1 column {line} (char 0)

During handling of the above exception, another exception occurred:

{python(function, line, value)}"""


def java(function: str, line: int, value: str) -> str:
    return f"""Exception in thread "pool-{line}-thread-1" com.acme.shop.LoadException: could not load order '{value}'
\tat com.acme.shop.Loader.{function}(Loader.java:{line})
\tat com.acme.shop.Main.main(Main.java:{line})
Caused by: java.sql.SQLTimeoutException: statement took {line} ms
\tat org.postgresql.jdbc.PgStatement.run(PgStatement.java:{line})
\tat java.base/java.util.concurrent.FutureTask.get(FutureTask.java:191)
\tat com.acme.shop.Loader.lambda${function}$0(Loader.java:{line})
\t... {line} more
"""


def node(function: str, line: int, value: str) -> str:
    return f"""/srv/{value}/src/orders.js:{line}
  return order.total.toFixed(2);
                     ^

TypeError: Cannot read properties of undefined (reading '{value}')
    at Number.toFixed (<anonymous>)
    at {function} (/srv/{value}/src/orders.js:{line}:{line})
    at async run (/srv/{value}/src/main.js:{line}:7)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)

Node.js v20.20.2
"""


def go(function: str, line: int, value: str) -> str:
    return f"""panic: strings: negative Repeat count

goroutine {line} [running]:
strings.Repeat({{0x7ffe{line}, 0x2}}, 0x{line})
\t/usr/local/go/src/strings/strings.go:{line} +0x4d8
main.{function}({{0xc00{line}, 0x5}})
\t/srv/{value}/orders.go:{line} +0x25
main.main()
\t/srv/{value}/main.go:{line} +0xc5
exit status 2
"""


def ruby(function: str, line: int, value: str) -> str:
    return f"""/srv/{value}/orders.rb:{line}:in `fetch': key not found: "{value}" (KeyError)
\tfrom /srv/{value}/orders.rb:{line}:in `{function}'
\tfrom /srv/{value}/main.rb:{line + 4}:in `<main>'
"""


def php(function: str, line: int, value: str) -> str:
    return f"""PHP Fatal error:  Uncaught ValueError: str_repeat(): Argument #2 is too low in /srv/{value}/o.php:{line}
Stack trace:
#0 /srv/{value}/o.php({line}): str_repeat()
#1 /srv/{value}/o.php({line + 9}): {function}()
#2 {{main}}
  thrown in /srv/{value}/o.php on line {line}
"""


def dotnet(function: str, line: int, value: str) -> str:
    return f"""Unhandled exception. System.FormatException: The input string '{value}' was not in a correct format.
   at System.Number.ThrowFormatException[TChar](ReadOnlySpan`1 value)
   at System.Int32.Parse(String s)
   at Shop.Orders.{function}(String id) in /srv/{value}/Orders.cs:line {line}
   at Shop.Program.Main(String[] args) in /srv/{value}/Program.cs:line {line}
"""


def rust(function: str, line: int, value: str) -> str:
    return f"""thread 'main' panicked at src/main.rs:{line}:5:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: rust_begin_unwind
             at /rustc/{line}abc/library/std/src/panicking.rs:{line}:5
   1: core::option::unwrap_failed
   2: shop::{function}
   3: shop::main
note: run with `RUST_BACKTRACE=full` for {value}
"""


TRACES = [python, chained, java, node, go, ruby, php, dotnet, rust]


@pytest.mark.parametrize("trace", TRACES)
def test_lines_paths_and_values_do_not_count(trace: Trace) -> None:
    """The same error of the same function, on another machine and after an edit further up."""
    one, other = signature(trace("load_order", 12, "apple")), signature(trace("load_order", 431, "pear"))
    assert one.remained == other.remained
    assert one.key == other.key


@pytest.mark.parametrize("trace", TRACES)
def test_the_own_function_counts(trace: Trace) -> None:
    """The same error of a library, met in another function of the program's own."""
    found = signature(trace("load_order", 12, "apple"))
    assert "load_order" in found.remained
    assert found.key != signature(trace("close_batch", 12, "apple")).key


def test_frames_further_out_do_not_count() -> None:
    """Who called the function that failed is no part of the failure."""
    deep = python("load_order", 12, "apple").replace("in run\n", "in main\n")
    assert signature(deep).key == signature(python("load_order", 12, "apple")).key


def test_a_cause_at_the_root_counts() -> None:
    """What wraps it is the same; another cause is another failure."""
    other = java("load", 3, "a").replace("java.sql.SQLTimeoutException", "java.sql.SQLSyntaxErrorException")
    assert signature(java("load", 3, "a")).key != signature(other).key


def test_a_long_trace_keeps_its_end() -> None:
    """Python says last what was thrown: it counts, however long the way there."""

    def deep(kind: type[Exception]) -> str:
        frames = "".join(f'  File "/srv/app/f.py", line {n}, in walk\n    walk({n})\n' for n in range(3000))
        return f"Traceback (most recent call last):\n{frames}{kind.__name__}: too deep\n"

    assert signature(deep(ValueError)).key != signature(deep(RuntimeError)).key
    assert "ValueError" in signature(deep(ValueError)).remained


def test_a_real_trace() -> None:
    """As this Python prints it: two errors of one function agree, those of two functions do not."""

    def fails(value: str) -> str:
        try:
            int(value)
        except ValueError:
            return traceback.format_exc()
        raise AssertionError(value)

    def fails_too(value: str) -> str:
        try:
            int(value)
        except ValueError:
            return traceback.format_exc()
        raise AssertionError(value)

    assert signature(fails("a")).key == signature(fails("b c")).key
    assert signature(fails("a")).key != signature(fails_too("a")).key

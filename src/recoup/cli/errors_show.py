"""One error in full, as ``recoup errors show`` prints it."""

from recoup.cli.layout import folded, shown, width
from recoup.cli.output import PIPED_WIDTH, hint, print_wrapped
from recoup.errors.listing import Shown
from recoup.errors.rendering import expiry, history, status, tier
from recoup.formatting import plural, timestamp


def print_shown(found: Shown, *, demo: bool) -> None:
    """Title, message, status, history, traceback, and what to do next."""
    row = found.row
    print(f"Error {row['error_id']} · {row['error_table']} · {row['status']} · {row['category']}")
    for line in str(row["error_message"]).splitlines() or [""]:
        for part in folded(shown(line), (width() or PIPED_WIDTH) - 2):
            print(f"  {part}")
    print()
    print_wrapped(summary(found), indent=2)
    print("\n  History")
    print_history(found)
    if found.traceback is not None:
        print("\n  Traceback")
        for line in found.traceback.rstrip().splitlines():
            print(f"  {shown(line)}")
    print(f"\n  Next: {shown(hint(found.next_step, demo=demo))}")


def print_history(found: Shown) -> None:
    """What happened, a line for each event."""
    lines = history(found.row["error_id"], found.events)
    what = max((len(line.what) for line in lines), default=0)
    print_wrapped(
        [(f"{timestamp(line.at)}  {line.what:<{what}}", f"{line.detail or line.what}  {line.by}") for line in lines],
        indent=2,
    )


def summary(found: Shown) -> list[tuple[str, object]]:
    """Names and values: the error's status, its owner, what it blocks, how often it was seen."""
    row = found.row
    given = {key: value for key, value in (row["payload"] or {}).items() if key != "traceback"}
    lines: list[tuple[str, object]] = [("Status", status(row, found.read_at)), ("Owner", found.owner)]
    if (level := tier(row, found.read_at)) is not None:
        lines.append(("Tier", level))
    if row["last_reviewed_at"] is not None:
        lines.append(("Reviewed", row["last_reviewed_at"]))
    entity = row["outreach_id"]
    lines.append(("Blocks", f"entity {entity}" if found.blocks else "nothing"))
    if entity is not None and not found.blocks:
        lines.append(("Entity", entity))
    for name, field in (("Work key", "work_key"), ("Code", "error_code"), ("Severity", "severity")):
        if row[field] is not None:
            lines.append((name, row[field]))
    if row["archived_at"] is None:
        lines.append(("Expires", expiry(row)))
    lines.append(("Seen", _seen(found)))
    if found.superseded:
        lines.append(("Supersedes", _superseded(found)))
    if row["superseded_by"] is not None:
        lines.append(("Superseded", f"by error {row['superseded_by']}"))
    if row["last_failure"] is not None:
        lines.append(("Last retry", row["last_failure"]))
    if given:
        lines.append(("Payload", ", ".join(f"{name} {value}" for name, value in given.items())))
    lines += [("Signature", row["error_signature"]), ("Why", " ".join(found.explanation))]
    return lines


def _seen(found: Shown) -> str:
    if found.occurrences == 1:
        return f"once, at {timestamp(found.last_seen_at)}"
    first, last = timestamp(found.first_seen_at), timestamp(found.last_seen_at)
    return f"{plural(found.occurrences, 'time')}, first at {first}, last at {last}"


def _superseded(found: Shown) -> str:
    newest = found.superseded[0]
    retries = plural(newest.max_retries, "retry", "retries")
    more = plural(len(found.superseded) - 1, "error")
    before = f", and {more} before it" if len(found.superseded) > 1 else ""
    return f"error {newest.error_id} ({newest.retry_count} of {retries} used){before}"

"""Where the console shows a row of a kind, as finders and time lines name it."""

from urllib.parse import quote

PAGES = {
    "error": "/errors/{}",
    "entity": "/why?subject=entity:{}",
    "company": "/gate/companies/{}",
    "batch": "/gate/batches/{}",
    "match": "/recovery/matches/{}",
    "candidate": "/recovery/matches/{}",
    "run": "/runs/{}",
    "partition": "/partitions/one?key={}",
    "operation": "/operations/{}",
    "alert": "/alerts/{}",
}


def address(kind: str, id_: object) -> str | None:
    """The address of a row's page; None: it has none."""
    page = PAGES.get(kind)
    # An error on a time line is named by its table and its number, which alone is its name on pages.
    name = str(id_).rpartition("/")[2] if kind == "error" else str(id_)
    return None if page is None else page.format(quote(name, safe=""))

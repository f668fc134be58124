"""Where the console shows a row of a kind, as finders, time lines and failures name it."""

from urllib.parse import quote

PAGES = {
    "error": "/errors/{}",
    "entity": "/why?subject=entity:{}",
    "signature": "/errors/list?signature={}",
    "company": "/gate/companies/{}",
    "intake": "/gate/companies/{}",
    "batch": "/gate/batches/{}",
    "match": "/recovery/matches/{}",
    "candidate": "/recovery/matches/{}",
    "incident": "/recovery/incidents/{}",
    "scope": "/recovery/scopes/{}",
    "task": "/recovery/tasks/{}",
    "breaker": "/recovery/breakers",
    "run": "/runs/{}",
    "partition": "/partitions/one?key={}",
    "operation": "/operations/{}",
    "alert": "/alerts/{}",
    "delivery": "/alerts/deliveries/{}",
}


def address(kind: str, id_: object) -> str | None:
    """The address of a row's page; None: it has none."""
    page = PAGES.get(kind)
    # An error is also named by its table and its number, of which pages know the number.
    name = str(id_).rpartition("/")[2] if kind == "error" else str(id_)
    return None if page is None else page.format(quote(name, safe=""))

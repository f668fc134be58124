"""``recoup state sink``: the folder in which the data of partitions is."""

from cyclopts import App

from recoup.cli.context import acting, opened, person
from recoup.cli.output import Column, Demo, Json, print_fields, print_rows
from recoup.lifecycles.declaration import Authority
from recoup.partitions import sinks
from recoup.partitions.sink import Sink, SinkRefused

app = App(
    name="sink", help="Create and register the raw sink, and see whether workers can use it.", help_format="plaintext"
)
COLUMNS = (
    Column("name", rank=0),
    Column("status", rank=1),
    Column("sink_id", "id", least=36, rank=2),
    Column("cause", rank=3),
    Column("message", cut="end", least=20, rank=4),
    Column("host", rank=5),
    Column("outage_at", "outage", least=12, rank=6),
    Column("restored_at", "restored", least=12, rank=7),
    Column("registered_at", "registered", least=12, rank=8),
    Column("registered_by", "by", rank=9),
)


@app.command
def create(*, demo: Demo = False, json: Json = False) -> None:
    """Create the raw sink in the folder that the settings name, and register it. What is a sink already is registered.

    Workers use a sink only if its id file is the one that is registered: an unmounted folder is not an empty sink.
    """
    with opened(demo=demo) as database:
        folder = sinks.folder(database.settings)
        try:
            sink = Sink.create(folder)
        except SinkRefused as refusal:
            if refusal.code != "sink_exists":
                raise
            sink = Sink.open(folder)
        with database.transaction(Authority.OPERATOR, actor=person(database)) as tx:
            found = sinks.register(tx, sink, database.settings.sink_name)
    if json:
        print_fields({"folder": str(sink.root), "sink_id": sink.sink_id, "name": found.name}, as_json=True)
    else:
        print(f"raw sink {found.name} in {sink.root}")


@app.command(name="list")
def list_(*, demo: Demo = False, json: Json = False) -> None:
    """List registered raw sinks, and whether workers can use them."""
    with acting(Authority.READER, demo=demo) as tx:
        found = sinks.registered(tx)
    print_rows(found, as_json=json, columns=COLUMNS, empty="No raw sink is registered. Next: recoup state sink create")

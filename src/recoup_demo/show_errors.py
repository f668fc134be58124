"""What the demo shows of errors."""

from dataclasses import asdict

from recoup.lifecycles.declaration import Authority


def show() -> None:
    from recoup.cli.context import acting, opened
    from recoup.cli.errors_metrics import STATS_COLUMNS
    from recoup.cli.errors_show import print_shown
    from recoup.cli.output import command, print_rows
    from recoup.errors import counting, listing
    from recoup_demo import errors as demo

    with opened(demo=True) as database:
        eventful = demo.an_eventful_error(database)
    print("\nErrors by table:\n")
    with acting(Authority.READER, demo=True) as tx:
        rows = [{**asdict(one), "archived": sum(one.archived.values())} for one in counting.stats(tx)]
        print_rows(rows, as_json=False, columns=STATS_COLUMNS, empty="There are no error tables.")
        if eventful is not None:
            print()
            print_shown(listing.show(tx, str(eventful.error_id)), demo=True)
    print("\nTry:")
    if eventful is not None:
        print(f"  {command(f'errors blocked {eventful.outreach_id}', demo=True)}")
    print(f"  {command('errors list --queue', demo=True)}")
    print(f"  {command('errors groups', demo=True)}")
    print(f"  {command('errors stats', demo=True)}")
    print(f"  {command('alerts list --all', demo=True)}")
    print(f"  {command('errors unpark --table outreach.dol_errors', demo=True)}   (shows a preview first)")

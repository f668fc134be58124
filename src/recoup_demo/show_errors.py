"""What the demo shows of errors."""

from dataclasses import asdict

from recoup.lifecycles.declaration import Authority


def show() -> None:
    from recoup.cli.context import acting, opened
    from recoup.cli.output import print_rows, shown
    from recoup.errors import listing
    from recoup.errors.rendering import story
    from recoup_demo import errors as demo

    with opened(demo=True) as database:
        eventful = demo.an_eventful_error(database)
    print("\nWhere the errors stand:")
    columns = (
        "error_table",
        "open",
        "retry_pending",
        "parked",
        "escalated",
        "blocking",
        "due_now",
        "retrying",
        "archived",
    )
    with acting(Authority.READER, demo=True) as tx:
        standings = [{**asdict(one), "archived": sum(one.archived.values())} for one in listing.stats(tx)]
        print_rows(standings, as_json=False, columns=columns, empty="There are no error tables.")
        if eventful is not None:
            found = listing.show(tx, str(eventful.error_id))
            print(f"\nError {eventful.error_id} of {eventful.error_table}: {shown(eventful.error_message)}")
            for line in story(found.events):
                print(f"  {shown(line)}")
            print(f"\nMay its company move on?  recoup errors blocked {eventful.outreach_id} --demo")
    print("Look around:   recoup errors list --status PARKED --demo, recoup errors stats --demo")
    print("Do something:  recoup errors unpark --table outreach.dol_errors --status PARKED --demo  (previewed first)")

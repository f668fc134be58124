"""What the conformance suite has to know of parcels."""

from conformance.cast import Role
from domains.parcels.manifest import PARCEL
from laws.probing import Probe, check, key, queued
from laws.rows import SAMPLES

ROLE = Role(
    PARCEL,
    born={s: f"(city, status, moved_at) values ('here', '{s}', recoup.now())" for s in PARCEL.statuses}
    | {"WAITING": "(city, moved_at) values ('here', recoup.now())"},
    change={status: f"status = '{status}', moved_at = recoup.now()" for status in PARCEL.statuses},
)
SAMPLES["parcels.parcel"] = {"city": "'here'", "parcel_id": "1", "moved_at": "recoup.now()"}
SAMPLES["parcels.parcel_event"] = {
    "seq": "1", "incarnation": "1", "logged_at": "now()", "parcel_id": "1", "actor_id": "'x'", "authority": "'x'",
}  # fmt: skip
SAMPLES["parcels.parcel_queue"] = {"unit": "1", "wake_at": "recoup.now()"}
PROBES: list[Probe] = []
queued(PARCEL, lambda tx: ROLE.brought(tx, "WAITING"), into=PROBES)
key("parcels.parcel", "parcel_pkey", "An id is one parcel's.", "parcel_id", into=PROBES)
key("parcels.parcel_event", "parcel_event_pkey", "A place is one event's.", "seq", into=PROBES)
check("parcels.parcel", "parcel_city_check", "A parcel goes somewhere.", PROBES, city="''")
check("parcels.parcel", "parcel_status_check", "A status is a listed one.", PROBES, status="'GONE'")

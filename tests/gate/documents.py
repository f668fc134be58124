"""What the requirement documents print, word for word: columns, comments, queries."""

from __future__ import annotations

import re

RECOVERY, AIR = "cl.gate_zero_recovery", "cl.gate_zero_air"

# name, type, nullable, in the order of the documents.
COLUMNS = {
    RECOVERY: """
| `recovery_id` | UUID | NO |
| `intake_id` | UUID | NO |
| `batch_id` | TEXT | YES |
| `failure_reason` | TEXT | NO |
| `attempt_count` | INTEGER | NO |
| `next_eligible_at` | TIMESTAMPTZ | NO |
| `status` | TEXT | NO |
| `created_at` | TIMESTAMPTZ | NO |
| `updated_at` | TIMESTAMPTZ | NO |
""",
    AIR: """
| `air_event_id` | UUID | NO |
| `entity_type` | TEXT | NO |
| `entity_id` | UUID | NO |
| `stage_id` | TEXT | NO |
| `process_id` | TEXT | NO |
| `event_type` | TEXT | NO |
| `reason_code` | TEXT | NO |
| `batch_id` | TEXT | YES |
| `payload_ref` | TEXT | YES |
| `actor` | TEXT | YES |
| `event_timestamp` | TIMESTAMPTZ | NO |
""",
}

COMMENTS = """
-- Table comment
COMMENT ON TABLE cl.gate_zero_recovery IS
'Failed intake records awaiting retry. Tracks throttle state (attempt_count, next_eligible_at) and failure reason. Terminal states: ACTIVE (retryable) or EXHAUSTED (no more retries).';

-- Column comments
COMMENT ON COLUMN cl.gate_zero_recovery.recovery_id IS
'Unique identifier for this recovery record. Auto-generated UUID.';

COMMENT ON COLUMN cl.gate_zero_recovery.intake_id IS
'Reference to original gate_zero_intake record. One intake → one recovery.';

COMMENT ON COLUMN cl.gate_zero_recovery.batch_id IS
'Inherited from intake. Used for batch-level operations.';

COMMENT ON COLUMN cl.gate_zero_recovery.failure_reason IS
'Reason code from last failed attempt. Updated on each retry.';

COMMENT ON COLUMN cl.gate_zero_recovery.attempt_count IS
'Number of verification attempts. Starts at 1. Max 3.';

COMMENT ON COLUMN cl.gate_zero_recovery.next_eligible_at IS
'Earliest timestamp when retry is permitted. Enforced gate.';

COMMENT ON COLUMN cl.gate_zero_recovery.status IS
'Recovery status: ACTIVE (retryable) or EXHAUSTED (terminal).';

COMMENT ON COLUMN cl.gate_zero_recovery.created_at IS
'Timestamp when recovery record was created.';

COMMENT ON COLUMN cl.gate_zero_recovery.updated_at IS
'Timestamp of last update.';

-- Table comment
COMMENT ON TABLE cl.gate_zero_air IS
'Immutable AIR (Action/Incident/Result) event log for Gate Zero. Records every verification attempt, pass, fail, and authorization. Downstream workers subscribe to this table for AUTH events. Append-only; no UPDATE or DELETE permitted.';

-- Column comments
COMMENT ON COLUMN cl.gate_zero_air.air_event_id IS
'Unique identifier for this AIR event. Auto-generated UUID. Immutable.';

COMMENT ON COLUMN cl.gate_zero_air.entity_type IS
'Type of entity: always "intake" for Gate Zero.';

COMMENT ON COLUMN cl.gate_zero_air.entity_id IS
'The intake_id this event relates to.';

COMMENT ON COLUMN cl.gate_zero_air.stage_id IS
'Stage identifier: always "GATE_ZERO" for this table.';

COMMENT ON COLUMN cl.gate_zero_air.process_id IS
'Process identifier: the specific action taken (e.g., VERIFY_COMPANY_EXISTENCE).';

COMMENT ON COLUMN cl.gate_zero_air.event_type IS
'Event outcome: ATTEMPT, PASS, FAIL, AUTH, EXHAUSTED, REENTER.';

COMMENT ON COLUMN cl.gate_zero_air.reason_code IS
'Specific reason code for this event.';

COMMENT ON COLUMN cl.gate_zero_air.batch_id IS
'Optional batch identifier. Inherited from intake.';

COMMENT ON COLUMN cl.gate_zero_air.payload_ref IS
'Optional pointer to additional payload data.';

COMMENT ON COLUMN cl.gate_zero_air.actor IS
'Who/what triggered this event: system, ai, human.';

COMMENT ON COLUMN cl.gate_zero_air.event_timestamp IS
'When this event occurred. Immutable. Always UTC.';
"""  # noqa: E501

QUERIES = {
    "eligible retries": """
SELECT r.recovery_id, r.intake_id, r.attempt_count, i.company_name
FROM cl.gate_zero_recovery r
JOIN cl.gate_zero_intake i ON r.intake_id = i.intake_id
WHERE r.status = 'ACTIVE'
  AND r.next_eligible_at <= now()
ORDER BY r.next_eligible_at ASC
""",
    "exhausted records": """
SELECT r.intake_id, r.failure_reason, r.attempt_count
FROM cl.gate_zero_recovery r
WHERE r.status = 'EXHAUSTED'
  AND r.batch_id = '2025_annual_outreach'
""",
    "subscription": """
SELECT entity_id AS intake_id, event_timestamp
FROM cl.gate_zero_air
WHERE stage_id = 'GATE_ZERO'
  AND event_type = 'AUTH'
  AND reason_code = 'EXISTENCE_CONFIRMED'
  AND event_timestamp > :last_processed_timestamp
ORDER BY event_timestamp ASC
""",
    "intake history": """
SELECT event_type, reason_code, event_timestamp
FROM cl.gate_zero_air
WHERE entity_id = :intake_id
ORDER BY event_timestamp ASC
""",
    "recent failures": """
SELECT entity_id, reason_code, event_timestamp
FROM cl.gate_zero_air
WHERE event_type = 'FAIL'
  AND event_timestamp > now() - INTERVAL '24 hours'
ORDER BY event_timestamp DESC
""",
    "authorization subscription": """
SELECT entity_id, event_timestamp
FROM cl.gate_zero_air
WHERE stage_id = 'GATE_ZERO'
  AND event_type = 'AUTH'
  AND reason_code = 'EXISTENCE_CONFIRMED'
ORDER BY event_timestamp ASC
""",
}

_TYPES = {"UUID": "uuid", "TEXT": "text", "INTEGER": "integer", "TIMESTAMPTZ": "timestamp with time zone"}


def columns(table: str) -> list[tuple[str, str, bool]]:
    """Name, PostgreSQL's word for the type, nullable."""
    rows = re.findall(r"\| `(\w+)` \| (\w+) \| (YES|NO) \|", COLUMNS[table])
    return [(name, _TYPES[kind], nullable == "YES") for name, kind, nullable in rows]


def comments() -> list[tuple[str, str, str]]:
    """TABLE or COLUMN, what it is on, and the text."""
    return re.findall(r"COMMENT ON (TABLE|COLUMN) ([\w.]+) IS\n'([^']*)';", COMMENTS)


def runnable(query: str) -> str:
    """A printed query with its :variables as the driver's parameters, and nothing else changed."""
    return re.sub(r":(\w+)", r"%(\1)s", query)

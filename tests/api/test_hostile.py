"""Whatever the document allows, and much that it does not: never a 5xx, and no answer that it does not describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as configured
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from recoup.api import documents
from recoup.api.app import build
from recoup.database.connection import Database
from recoup.settings import load

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DOCUMENT = documents.document(build(Database("", load({"RECOUP_HOME": "/nowhere"})), keyed=False))
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {result.ok().label: result.ok() for result in SCHEMA.get_all_operations() if isinstance(result, Ok)}


@pytest.fixture(scope="module")
def known(api: httpx2.Client) -> Mapping[str, Any]:
    """Ids of rows that exist, by the names that paths have for them."""
    entity, batch = str(uuid4()), f"batch {uuid4()}"
    error = {"table": "outreach.dol_errors", "message": "no filing matches", "outreach_id": entity}
    error_id = api.post("/v1/errors", json=error).json()["error_id"]
    api.post("/v1/gate/batches", json={"batch_id": batch})
    company = {"company_name": "Acme", "company_domain": "acme.example"}
    intake = api.post("/v1/gate/intakes", json={"batch_id": batch, "intakes": [company]}).json()["items"][0]
    run = api.post("/v1/runs", json={"kind": "nightly", "input": {"n": 1}}).json()
    failure = {"source": "crm", "key": str(uuid4()), "message": "the CRM timed out"}
    match = api.post("/v1/recovery/failures", json=failure).json()["failure_match_id"]
    return {"error_id": error_id, "batch_id": batch, "intake_id": intake, "run_id": run["run_id"], "match_id": match}


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as made:
        yield made


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")  # of schemathesis's own
@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_leads_to_a_5xx_or_to_an_answer_that_is_not_described(
    label: str, api: httpx2.Client, session: requests.Session, known: Mapping[str, Any], pytestconfig: pytest.Config
) -> None:
    operation = OPERATIONS[label]
    either = st.one_of(*(operation.as_strategy(mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)))

    @configured(
        max_examples=max(6, pytestconfig.getoption("--cases") // 33),
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=either, exists=st.booleans())
    def asked(case: schemathesis.Case[Any], exists: bool) -> None:
        if exists:
            for place in (case.path_parameters, case.query):
                if isinstance(place, dict):
                    place.update({name: known[name] for name in place if name in known})
        case.call_and_validate(base_url=str(api.base_url), session=session, checks=CHECKS)

    asked()

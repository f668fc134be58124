"""The policy's section on deliveries: which routes there are, and how often and how long each is tried.

No secret is a part of it: everybody who reads the database reads the policy, and every version is kept for good. A
route names the environment variables that hold its URL and its key, and a name cannot look like either.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from recoup.policy.section import Part, Section, one_of, wrong_value

RouteName = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$", description="a name of lower-case letters, digits, - and _"),
]
RouteOrNone = Annotated[
    str,
    Field(pattern=r"^([a-z][a-z0-9_-]{0,59})?$", description="the name of a route; empty: none"),
]
Variable = Annotated[
    str,
    Field(
        pattern=r"^[A-Z][A-Z0-9_]{0,99}$",
        description="the name of an environment variable, in capital letters; never the secret itself",
    ),
]
FileName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$",
        description="the name of a file in the folder deliveries of the home folder",
    ),
]


class Route(Section):
    """Where notices go, and how often that is tried."""

    kind: Literal["webhook", "apprise", "file", "log"]
    url_env: Variable | None = None  # of a webhook, or of apprise: holds its URL
    secret_env: Variable | None = None  # of a webhook: holds the key that signs what is sent
    allow_http: bool = False  # of a webhook: without TLS, also to other machines
    path: FileName | None = None  # of a file
    timeout_s: Annotated[int, Field(ge=1, le=60)] = 10
    max_tries: Annotated[int, Field(ge=1, le=100)] = 12
    base_s: Annotated[int, Field(ge=1, le=86_400)] = 10
    cap_s: Annotated[int, Field(ge=1, le=604_800)] = 3600

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Route:
        needed = {"webhook": "url_env", "apprise": "url_env", "file": "path"}.get(self.kind)
        if needed is not None and getattr(self, needed) is None:
            raise wrong_value(needed, None, f"a value: a route of the kind {self.kind} needs it")
        others = {
            "webhook": ("path",), "apprise": ("path", "secret_env"), "file": ("url_env", "secret_env"),
            "log": ("path", "url_env", "secret_env"),
        }  # fmt: skip
        for name in others[self.kind]:
            if getattr(self, name) is not None:
                raise wrong_value(name, getattr(self, name), f"nothing: a route of the kind {self.kind} has none")
        return self


class DeliveryPolicy(Part):
    """Deliveries."""

    section: ClassVar[str] = "deliveries"
    package: ClassVar[str] = "recoup.deliveries"
    decides: ClassVar[tuple[str, ...]] = ("lease_s", "max_waiting")

    lease_s: Annotated[int, Field(ge=90, le=3_600)]  # longer than any timeout
    at_once: Annotated[int, Field(ge=1, le=500)]
    at_once_per_route: Annotated[int, Field(ge=1, le=100)]
    max_waiting: Annotated[int, Field(ge=1, le=1_000_000)]
    fallback_route: RouteOrNone
    routes: dict[RouteName, Route]

    @model_validator(mode="after")
    def _fallback_is_a_route(self) -> DeliveryPolicy:
        if self.fallback_route and self.fallback_route not in self.routes:
            raise wrong_value("fallback_route", self.fallback_route, one_of(self.fallback_route, self.routes))
        return self

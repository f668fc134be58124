"""The manifest of the mint."""

from recoup.domain import Domain, routines
from recoup.mint import refusals
from recoup.mint.duties import DUTIES
from recoup.mint.finding import FINDER
from recoup.mint.invariants import INVARIANTS
from recoup.mint.lifecycle import IDENTITY, MINT_AIR
from recoup.mint.timeline import TIMELINE

MINT = Domain(
    name="mint",
    package="recoup.mint",
    description="One sovereign identity for each company that Gate Zero authorised.",
    release=4,
    lifecycles=(IDENTITY,),
    logs=(MINT_AIR,),
    routines=routines("recoup.mint", "mint", "comments"),
    duties=DUTIES,
    invariants=INVARIANTS,
    refusals=refusals.LAWS,
    finders=(FINDER,),
    timelines=(TIMELINE,),
)

"""The names of profiles, in a module that is fast to import."""

from __future__ import annotations

from deltalog.core.arguments import check_choice

PROFILES = ("owl2rl", "rdfs", "owl2rl-rdf")


def check_profile(profile: str) -> str:
    """A profile, if there is one of that name."""
    check_choice("profile", profile, PROFILES, " of ontologies")
    return profile

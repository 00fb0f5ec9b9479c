"""Metadata: layers, key maps, declarations; every fault at once."""

from __future__ import annotations

import pytest

from ai_server.knowledge import metadata
from ai_server.knowledge.loaders.model import Rejected
from tests.fakes.library import KEYS

GOOD = {"scope": ("docs",), "audience": ("public",), "language": ("fr",)}


def test_later_layers_win_key_by_key_and_keys_are_mapped():
    layers = [{"audience": ("public",), "scope": ("docs",)}, {"audience": ("staff",)}, {"lang": ("es",)}]
    assert metadata.merge(layers, {"lang": "language"}) == {
        "audience": ("staff",),
        "scope": ("docs",),
        "language": ("es",),
    }


def test_an_undeclared_key_is_kept_and_counted():
    described = metadata.validate({**GOOD, "weight": ("3",), "title": ("T",)}, KEYS)
    assert described.undeclared_keys == ("weight",)
    assert described.values["weight"] == ("3",)


def test_missing_keys_and_undeclared_values_are_named_together():
    with pytest.raises(Rejected) as caught:
        metadata.validate({"audience": ("public", "everyone"), "language": ("de",)}, KEYS)
    message = str(caught.value)
    assert "`scope` is required and missing" in message
    assert "`audience` is `everyone`, which is not declared: use one of members, public, staff" in message
    assert "`language` is `de`" in message

"""Owns the agreement of the settings with the files that name them for a person."""

from __future__ import annotations

import re

import pytest

from muniment.config import PREFIX, Settings
from tests.architecture.tree import ROOT

NAMES = tuple(f"{PREFIX}{field.upper()}" for field in Settings.model_fields)

# What only the tests read is no setting of the product.
TESTS = f"{PREFIX}TEST_"

# Their example shows a form; the default depends on the machine, or is not to be set.
SHOWN_BY_EXAMPLE = {"home", "database_url", "redis_url", "url", "token"}


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("document", ["README.md", ".env.example"])
def test_document_names_the_setting(document: str, name: str) -> None:
    assert re.search(rf"\b{name}\b", _text(document)), f"{document} does not name {name}"


@pytest.mark.parametrize(
    "document", ["README.md", "ARCHITECTURE.md", ".env.example", "docker-compose.yml", "Dockerfile"]
)
def test_document_names_no_setting_that_does_not_exist(document: str) -> None:
    named = set(re.findall(rf"\b{PREFIX}[A-Z0-9_]*[A-Z0-9]\b", _text(document)))
    assert {name for name in named if not name.startswith(TESTS)} - set(NAMES) == set()


def test_example_shows_every_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    default = Settings()
    for name, value in re.findall(rf"^#({PREFIX}\w+)=(.*)$", _text(".env.example"), re.MULTILINE):
        monkeypatch.setenv(name, value)
    shown = Settings()
    exclude = SHOWN_BY_EXAMPLE
    assert shown.model_dump(exclude=exclude) == default.model_dump(exclude=exclude)

"""Agents that no one here wrote work with the product from their first turn to their last.

The harness is real and the model is a script: what it was offered and what the tools told it is
what a model would have had.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.clients.conftest import TITLE, Product
from tests.acceptance.clients.packages import Clients, Ran
from tests.acceptance.clients.scripted_model import Heard, ScriptedModel, Step

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

TOOLS = ["open", "recall", "relate", "remember", "retract", "trace"]
RECALL = {"query": "quokka count leaves", "limit": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One harness. prefix: of our tools' names. connected: what its list says when all is well."""

    name: str
    program: str
    prefix: str
    connected: str
    talk: Callable[[Clients, str, dict[str, str]], Ran]

    def connect(self, product: Product, clients: Clients) -> tuple[dict[str, str], Path]:
        """Let `muniment connect` write its configuration; return what to export, and the file."""
        home = {"HOME": str(clients.home)}
        done = product.cli.json("connect", self.name, "--yes", env=home)
        assert done["written"]
        return {done["token_env"]: done["token"]}, Path(done["file"])

    def listed(self, clients: Clients, exported: dict[str, str]) -> str:
        """Return what it says of its MCP servers."""
        ran = clients.run(self.program, "mcp", "list", env=exported)
        assert ran.code == 0, ran.text
        return ran.text

    def work(
        self, clients: Clients, exported: dict[str, str], steps: Sequence[Step]
    ) -> tuple[Heard, str]:
        """Let it work through a script; return what the model heard and what it said at last."""
        with ScriptedModel(steps) as model:
            ran = self.talk(clients, model.url, exported)
        assert ran.code == 0, ran.text
        assert model.heard.turns == len(steps) + 1, ran.text
        return model.heard, ran.out

    def step(self, tool: str, arguments: Callable[[Sequence[str]], dict[str, Any]]) -> Step:
        return Step(tool=self.prefix + tool, arguments=arguments)


def _claude(clients: Clients, model: str, exported: dict[str, str]) -> Ran:
    allowed = ",".join(f"mcp__muniment__{tool}" for tool in TOOLS)
    return clients.run(
        *("claude", "-p", "go", "--allowedTools", allowed),
        env=exported | {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "local"},
    )


def _opencode(clients: Clients, model: str, exported: dict[str, str]) -> Ran:
    config = {
        "provider": {"anthropic": {"options": {"baseURL": f"{model}/v1", "apiKey": "local"}}},
        "model": "anthropic/claude-sonnet-4-5",
        "permission": "allow",
    }
    (clients.home / "opencode.json").write_text(json.dumps(config))
    return clients.run("opencode", "run", "go", env=exported)


AGENTS = {
    "claude": Agent(
        name="claude",
        program="claude",
        prefix="mcp__muniment__",
        connected="✔ Connected",
        talk=_claude,
    ),
    "opencode": Agent(
        name="opencode",
        program="opencode",
        prefix="muniment_",
        connected="✓ muniment",
        talk=_opencode,
    ),
}


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> Agent:
    return AGENTS[request.param]


def test_what_connect_writes_connects(product: Product, clients: Clients, agent: Agent) -> None:
    exported, file = agent.connect(product, clients)
    assert agent.connected in agent.listed(clients, exported)
    assert next(iter(exported.values())) not in file.read_text()
    wrong = dict.fromkeys(exported, f"mun_{'A' * 43}")
    refused = agent.listed(clients, wrong)
    assert agent.connected not in refused
    assert "401" in refused


def test_claude_adds_the_service_by_its_own_command(product: Product, clients: Clients) -> None:
    header = f"Authorization: Bearer {product.token()[0]}"
    added = clients.run(
        *("claude", "mcp", "add", "--transport", "http", "ours", product.url, "--header", header)
    )
    assert added.code == 0, added.text
    listed = clients.run("claude", "mcp", "list").text
    assert f"ours: {product.url} (HTTP) - ✔ Connected" in listed


def test_an_agent_recalls_opens_traces_and_remembers(
    product: Product, clients: Clients, agent: Agent
) -> None:
    word = f"pangolin{agent.name}"
    note = {"about": f"Work of {agent.name}", "type": "Note", "property": "text", "value": word}
    steps = (
        agent.step("recall", lambda _: RECALL),
        agent.step("open", lambda said: {"about": _first(said)["id"]}),
        agent.step("trace", lambda said: {"about": _first(said)["name"]}),
        agent.step("remember", lambda _: {"claims": [note]}),
        agent.step("recall", lambda _: {"query": word}),
    )
    exported, _ = agent.connect(product, clients)
    heard, last = agent.work(clients, exported, steps)
    ours = [name for name in heard.tools if name.startswith(agent.prefix)]
    assert sorted(ours) == [agent.prefix + tool for tool in TOOLS]
    assert "recorded data with a source" in heard.system
    recalled, opened, traced, remembered, found = map(json.loads, heard.results)
    assert recalled["hits"][0]["value"] == TITLE
    assert recalled["hits"][0]["source"] == "git:marsupials"
    assert product.sha in json.dumps(opened["claims"])
    assert traced["events"][0]["kind"] == "object_created"
    assert remembered["results"][0]["outcome"] == "asserted"
    assert found["hits"][0]["value"] == word
    assert found["hits"][0]["source"] == f"agent:{agent.name}"
    assert word in last


def test_a_restart_amid_an_agents_work_goes_unnoticed(
    product: Product, clients: Clients, agent: Agent
) -> None:
    def after_restart(_: Sequence[str]) -> dict[str, Any]:
        assert product.cli.process("down").code == 0
        product.cli.detach()
        return RECALL

    steps = (agent.step("recall", lambda _: RECALL), agent.step("recall", after_restart))
    exported, _ = agent.connect(product, clients)
    heard, _ = agent.work(clients, exported, steps)
    before, after = (json.loads(said)["hits"] for said in heard.results)
    assert before == after != []


def test_a_token_revoked_amid_an_agents_work_ends_it(
    product: Product, clients: Clients, agent: Agent
) -> None:
    token, token_id = product.token()

    def after_revocation(_: Sequence[str]) -> dict[str, Any]:
        revoked = ("token", "revoke", token_id, "--reason", "It leaked.")
        assert product.cli.process(*revoked).code == 0
        return RECALL

    steps = (agent.step("recall", lambda _: RECALL), agent.step("recall", after_revocation))
    exported, _ = agent.connect(product, clients)
    heard, _ = agent.work(clients, dict.fromkeys(exported, token), steps)
    assert TITLE in heard.results[0]
    assert TITLE not in heard.results[1]
    assert any(word in heard.results[1] for word in ("revoked", "rejected"))


def _first(said: Sequence[str]) -> dict[str, str]:
    return json.loads(said[0])["hits"][0]["object"]

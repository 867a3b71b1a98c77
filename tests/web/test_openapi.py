"""The OpenAPI document describes every route, and a fuzzer finds no answer that it does not describe."""

import asyncio

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks
from tests.engine.fakes import run_for
from tests.web.rooms import TOKEN, Room

from recrawl.web.api import ENDPOINTS


def made_room():
    """A room whose engine has run and rests: calls of any event loop can be answered."""

    async def fill(room):
        await run_for(room.engine, room.clock, 3.0)

    room = Room(reads_per_second=1e9, actions_per_second=1e9)
    asyncio.run(fill(room))
    return room


ROOM = made_room()
SCHEMA = schemathesis.openapi.from_asgi("/api/openapi.json", ROOM.app, headers={"Host": "localhost"})
# A list of too many items may be refused for its bytes before its items are counted.
SCHEMA.config.checks.negative_data_rejection.expected_statuses += ["413"]


def test_every_route_under_api_is_described():
    paths = SCHEMA.raw_schema["paths"]
    served = {route.path for route in ROOM.app.routes if getattr(route, "path", "").startswith("/api/")}
    assert served - set(paths) == {"/api/openapi.json", "/api/events"}  # the description itself, and a stream
    assert {(e.path, e.method.lower()) for e in ENDPOINTS} == {
        (path, m) for path, item in paths.items() for m in item
    }
    for item in paths.values():
        for operation in item.values():
            assert operation["summary"]
            assert "200" in operation["responses"]
            for response in operation["responses"].values():
                assert response["description"]
                assert response["content"]["application/json"]["schema"]


def test_every_field_has_a_type():
    for name, schema in SCHEMA.raw_schema["components"]["schemas"].items():
        for field, value in schema["properties"].items():
            assert value.keys() & {"type", "anyOf", "$ref", "enum"}, (name, field)


def test_actions_name_their_token():
    for endpoint in ENDPOINTS:
        operation = SCHEMA.raw_schema["paths"][endpoint.path][endpoint.method.lower()]
        assert ("security" in operation) == endpoint.action


@SCHEMA.parametrize()
@settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_answer_that_is_not_described(case):
    case.call_and_validate(
        excluded_checks=[checks.CHECKS.get_one("unsupported_method")],
        headers={"Authorization": f"Bearer {TOKEN}", "Host": "localhost"},
    )


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.action], ids=lambda e: e.name)
def test_without_the_token_nothing_is_done(endpoint):
    async def ask():
        async with ROOM.client() as client:
            return await client.post(endpoint.path, json={})

    assert asyncio.run(ask()).status_code == 401

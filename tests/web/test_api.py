"""Every endpoint answers with what it is described to answer with."""

import json

import msgspec
import pytest
from jsonschema_rs import Draft202012Validator
from tests.web.rooms import BEARER, HOSTILE, URLS, open_room

from recrawl.web.api import ENDPOINTS


@pytest.fixture
async def room():
    async with open_room() as opened:
        yield opened


ASKED = {
    "/api/search": {"q": "common"},
    "/api/page": {"url": URLS[2]},
    "/api/site": {"name": "a.example"},
    "/api/history": {"seconds": 60},
}
ORDERED = {
    "/api/visit": {"url": URLS[3]},
    "/api/pause": {"site": "a.example"},
    "/api/resume": {"site": "a.example"},
    "/api/weight": {"url": URLS[4], "weight": 3.0},
    "/api/remove": {"url": URLS[5]},
    "/api/signals": [{"url": URLS[6]}, {"url": "http://b.example/new"}],
    "/api/control": {"control": "fixed", "robots": 2},
    "/api/budget": {"budget": "10/s"},
}


async def test_every_endpoint_answers_as_described(room):
    async with room.client(headers=BEARER) as client:
        description = (await client.get("/api/openapi.json")).json()
        for endpoint in ENDPOINTS:
            if endpoint.method == "GET":
                response = await client.get(endpoint.path, params=ASKED.get(endpoint.path))
            else:
                response = await client.post(endpoint.path, json=ORDERED[endpoint.path])
            assert response.status_code == 200, (endpoint.path, response.text)
            operation = description["paths"][endpoint.path][endpoint.method.lower()]
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            whole = {**schema, "components": description["components"]}
            Draft202012Validator(whole).validate(response.json())
            msgspec.json.decode(response.content, type=endpoint.answers)


async def test_the_overview_tells_what_happens(room):
    async with room.client() as client:
        found = (await client.get("/api/overview")).json()
    assert (found["running"], found["read_only"], found["sites"]) == (True, False, 2)
    assert found["pages"]["known"] == found["scheduled"] == len(URLS) + 1
    assert found["accesses"] == sum(found["outcomes"].values()) == pytest.approx(80, abs=3)
    assert found["accesses_per_second"] == pytest.approx(20.0, rel=0.2)
    assert found["budget_used"] == pytest.approx(1.0, rel=0.2)
    assert 0.0 <= found["obsolescence"] <= 1.0
    assert [measure["name"] for measure in found["queue"]][:3] == ["loss", "obsolete", "starvation"]


async def test_a_search_marks_words_and_says_how_current_a_copy_is(room):
    async with room.client() as client:
        found = (await client.get("/api/search", params={"q": "common", "limit": 50})).json()
        none = (await client.get("/api/search", params={"q": "zzz"})).json()
        by_site = (
            await client.get("/api/search", params={"q": "common", "site": "b.example", "limit": 50})
        ).json()
    assert found["count"] == len(URLS) + 1
    assert none["count"] == 0
    assert {hit["site"] for hit in by_site["hits"]} == {"b.example"}
    for hit in found["hits"]:
        begin, end = hit["marks"][0]
        assert hit["snippet"][begin:end].lower() == "common"
        assert 0.0 < hit["current_probability"] <= 1.0
        assert hit["last_seen"] <= room.clock.time()
    hostile = next(hit for hit in found["hits"] if hit["url"] == HOSTILE)
    assert hostile["title"] == "<script>alert(1)</script>"  # text, as it is; who shows it escapes it


async def test_pages_are_sorted_filtered_and_paged(room):
    async with room.client() as client:

        async def pages(**query):
            return (await client.get("/api/pages", params=query)).json()

        everything = await pages(limit=500)
        assert everything["count"] == everything["total"] == len(URLS) + 1
        for sort, field in (
            ("rate", "change_rate"),
            ("seen", "last_seen"),
            ("url", "url"),
            ("weight", "weight"),
        ):
            values = [row[field] for row in (await pages(sort=sort, limit=500))["rows"]]
            assert values == sorted(values)
            values = [row[field] for row in (await pages(sort=sort, limit=500, descending="true"))["rows"]]
            assert values == sorted(values, reverse=True)
        first, second = await pages(limit=5), await pages(limit=5, offset=5)
        assert [row["url"] for row in first["rows"] + second["rows"]] == [
            row["url"] for row in everything["rows"][:10]
        ]
        some = await pages(site="b.example", matching="EXAMPLE/7", limit=10)
        assert [row["url"] for row in some["rows"]] == ["http://b.example/7"]
        assert (await pages(state="gone"))["count"] == 0
        for row in everything["rows"]:
            assert row["change_rate_low"] <= row["change_rate"] <= row["change_rate_high"]


async def test_a_page_has_its_history_and_the_belief_over_time(room):
    async with room.client() as client:
        found = (await client.get("/api/page", params={"url": URLS[2]})).json()
    accesses = await room.store.accesses(URLS[2])
    assert [entry["time"] for entry in found["accesses"]] == [note.time for note in accesses]
    assert sum(entry["changed"] for entry in found["accesses"]) == found["row"]["changes"] == 1
    assert len(found["belief"]) == len(accesses)
    changed = next(place for place, entry in enumerate(found["accesses"]) if entry["changed"])
    assert (
        found["belief"][changed]["rate"] > found["belief"][changed - 1]["rate"]
    )  # a change raises the belief
    last = found["belief"][-1]
    assert last["low"] <= found["row"]["change_rate"] <= last["high"]
    assert found["text"] == "common words of another text"


async def test_the_plan_falls_with_the_budget(room):
    async with room.client() as client:
        found = (await client.get("/api/plan")).json()
        twice = (await client.get("/api/plan", params={"factor": 2})).json()
    values = [point["obsolescence"] for point in found["curve"]]
    assert len(values) == 41
    assert values == sorted(values, reverse=True)
    assert found["present"]["budget_per_second"] == 20.0
    assert found["curve"][20] == found["present"]
    assert twice["present"]["obsolescence"] < found["present"]["obsolescence"]
    by_name = {row["policy"]: row["obsolescence"] for row in found["policies"]}
    assert by_name["optimal"] == pytest.approx(found["present"]["obsolescence"])
    assert by_name["optimal"] <= min(by_name.values()) + 1e-12
    assert sum(row["count"] for row in found["intervals"]) + found["never_visited"] == len(URLS) + 1


async def test_the_change_feed_by_cursor(room):
    async with room.client() as client:
        told, cursor = [], 0
        while True:
            found = (await client.get("/api/changes", params={"since": cursor, "limit": 7})).json()
            told += found["changes"]
            cursor = found["cursor"]
            if not found["more"]:
                break
    assert [change["cursor"] for change in told] == list(range(1, len(told) + 1))
    assert cursor == await room.store.last_revision()
    assert [change["url"] for change in told if change["kind"] == "changed"] == [URLS[2]]


async def test_what_is_wrong_is_said(room):
    async with room.client(headers=BEARER) as client:
        for path, query, status, words in (
            ("/api/page", {"url": "http://a.example/none"}, 404, "not known"),
            ("/api/page", {"url": "nonsense"}, 404, "not known"),
            ("/api/site", {"name": "c.example"}, 404, "not known"),
            ("/api/page", {}, 422, "url"),
            ("/api/pages", {"limit": 0}, 422, "limit"),
            ("/api/pages", {"sort": "beauty"}, 422, "sort"),
            ("/api/pages", {"no_such": 1}, 422, "no_such"),
            ("/api/history", {"names": "obsolescence,nothing"}, 422, "names"),
            ("/api/history", {"end": "null"}, 422, "end"),
            ("/api/nothing", {}, 404, "nothing"),
        ):
            response = await client.get(path, params=query)
            assert response.status_code == status
            assert words in response.json()["detail"]
        response = await client.post("/api/pause", content=b"{", headers={"content-type": "application/json"})
        assert response.status_code == 400
        response = await client.post("/api/pause", content=b"site=x", headers={"content-type": "text/plain"})
        assert response.status_code == 415
        response = await client.post("/api/control", json={"control": "fixed", "robots": 9999})
        assert response.status_code == 409
        assert "robots" in response.json()["detail"]
        response = await client.post("/api/budget", json={"budget": "fast"})
        assert response.status_code == 422


async def test_actions_take_effect(room):
    async with room.client(headers=BEARER) as client:
        await client.post("/api/pause", json={"site": "a.example"})
        assert (await client.get("/api/overview")).json()["paused_sites"] in (
            [],
            ["a.example"],
        )  # kept for a second
        sites = (await client.get("/api/sites")).json()
        assert {row["site"]: row["paused"] for row in sites["rows"]} == {
            "a.example": True,
            "b.example": False,
        }
        await client.post("/api/weight", json={"url": URLS[12], "weight": 5})
        row = (await client.get("/api/page", params={"url": URLS[12]})).json()["row"]
        assert row["weight"] == 5.0
        await client.post("/api/remove", json={"url": URLS[13]})
        state = (await client.get("/api/page", params={"url": URLS[13]})).json()["row"]["state"]
        assert state == "excluded"
        await client.post("/api/control", json={"control": "fixed", "robots": 2})
        robots = (await client.get("/api/robots")).json()
        assert (robots["control"], robots["robots_active"]) == ("fixed", 2)
        signal = await client.post("/api/signals", json=[{"url": URLS[14]}, {"url": "javascript:alert(1)"}])
        assert signal.json()["text"] == "1 pages are due at once, 0 are new, 1 were passed over."


async def test_signals_by_indexnow(room):
    key = "0123456789abcdef"
    async with room.client() as client:
        one = await client.get("/indexnow", params={"url": URLS[15], "key": key})
        assert one.status_code == 200
        order = {"host": "b.example", "key": key, "urlList": [URLS[16], URLS[17]]}
        many = await client.post("/indexnow", json=order)
        assert (many.status_code, many.text) == (
            200,
            "2 pages are due at once, 0 are new, 0 were passed over.\n",
        )
        assert (await client.post("/indexnow", json={**order, "key": "wrong key!"})).status_code == 403
        assert (await client.post("/indexnow", json={**order, "host": "a.example"})).status_code == 422
        assert (await client.post("/indexnow", content=b"no json")).status_code == 400
        assert (await client.get("/indexnow", params={"key": key})).status_code == 400
        assert (await client.get("/indexnow", params={"url": URLS[15]})).status_code == 403


async def test_health(room):
    async with room.client() as client:
        assert (await client.get("/healthz")).json() == {"status": "ok", "running": True}


async def test_numbers_are_json(room):
    """No NaN or infinity anywhere."""
    async with room.client() as client:
        for path in ("/api/overview", "/api/plan", "/api/sites", "/api/robots", "/api/history"):
            text = (await client.get(path)).text
            json.loads(text, parse_constant=pytest.fail)

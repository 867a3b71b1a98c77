"""Who may do what: hosts, tokens, cookies, origins, sizes, rates; and what never leaks."""

import pytest
from tests.web.rooms import BEARER, TOKEN, URLS, Room, open_room

ORDER = {"url": URLS[3]}


@pytest.fixture
async def room():
    async with open_room(1.0) as opened:
        yield opened


async def logged_in(client):
    response = await client.get("/login", params={"token": TOKEN})
    assert response.status_code == 303
    return response


def form_token(room):
    return {"X-CSRF-Token": room.options.derived("form")}


async def test_every_answer_has_the_headers(room):
    async with room.client() as client:
        for path in ("/api/overview", "/api/none", "/login", "/metrics", "/nothing", "/healthz"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            wanted = "same-origin" if path == "/login" else "no-referrer"  # its form needs an Origin
            assert headers["referrer-policy"] == wanted
            assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8717", "127.0.0.1.evil.example", "", "10.0.0.1"]
)
async def test_foreign_names_are_refused(room, host):
    async with room.client() as client:
        response = await client.get("/api/overview", headers={"host": host})
    assert response.status_code == 403
    assert "web_hosts" in response.json()["detail"]


@pytest.mark.parametrize("host", ["127.0.0.1:8717", "localhost", "LocalHost:8717", "[::1]:8717"])
async def test_own_names_are_served(room, host):
    async with room.client() as client:
        assert (await client.get("/api/overview", headers={"host": host})).status_code == 200


async def test_actions_need_the_token(room):
    async with room.client() as client:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic " + TOKEN},
            {"Cookie": "recrawl-8717=x"},
        ):
            response = await client.post("/api/visit", json=ORDER, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
        assert (await client.post("/api/visit", json=ORDER, headers=BEARER)).status_code == 200


async def test_a_login_makes_a_careful_cookie(room):
    async with room.client() as client:
        response = await logged_in(client)
        cookie = response.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN.lower() not in cookie
        assert response.headers["location"] == "/"
        wrong = await client.get("/login", params={"token": "wrong"})
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (403, False)
        form = await client.post("/login", data={"token": TOKEN, "next": "//evil.example/"})
        assert (form.status_code, form.headers["location"]) == (303, "/")


async def test_a_browser_needs_the_token_of_the_form(room):
    async with room.client() as client:
        await logged_in(client)
        assert (await client.post("/api/visit", json=ORDER)).status_code == 403
        assert (await client.post("/api/visit", json=ORDER, headers={"X-CSRF-Token": "x"})).status_code == 403
        assert (await client.post("/api/visit", json=ORDER, headers=form_token(room))).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_orders_of_other_pages_are_refused(room, headers):
    async with room.client() as client:
        await logged_in(client)
        for path, extra in (("/api/visit", form_token(room)), ("/login", {})):
            response = await client.post(path, json=ORDER, headers={**headers, **extra})
            assert response.status_code == 403
    async with room.client() as client:
        fine = {"Origin": "http://127.0.0.1:8717", "Sec-Fetch-Site": "same-origin"}
        await logged_in(client)
        response = await client.post("/api/visit", json=ORDER, headers={**fine, **form_token(room)})
        assert response.status_code == 200


async def test_elsewhere_everything_needs_the_token():
    async with open_room(1.0, host="0.0.0.0") as room, room.client("http://192.0.2.7:8717") as client:
        for path in ("/api/overview", "/api/events", "/metrics", "/api/openapi.json", "/api/search?q=x"):
            assert (await client.get(path)).status_code == 401, path
            if "events" not in path:
                assert (await client.get(path, headers=BEARER)).status_code == 200, path
        page = await client.get("/pages")
        assert (page.status_code, page.headers["location"]) == (303, "/login?next=/pages")
        assert (await client.get("/healthz")).status_code == 200
        await logged_in(client)
        assert (await client.get("/api/overview")).status_code == 200


async def test_large_bodies_are_refused(room):
    async with room.client(headers=BEARER) as client:
        body = b"[" + b" " * 3_000_000 + b"]"
        response = await client.post(
            "/api/signals", content=body, headers={"content-type": "application/json"}
        )
        assert response.status_code == 413

        async def pieces():
            for _ in range(30):
                yield b" " * 100_000

        response = await client.post(
            "/api/signals", content=pieces(), headers={"content-type": "application/json"}
        )
        assert response.status_code == 413


async def test_rates_are_limited_for_each_address():
    async with open_room(1.0, reads_per_second=2.0, actions_per_second=1.0) as room:
        async with room.client(address="192.0.2.1") as client:
            statuses = [(await client.get("/api/overview")).status_code for _ in range(20)]
            assert statuses[:8] == [200] * 8
            assert statuses[-1] == 429
            assert (await client.get("/api/overview")).headers["retry-after"] == "1"
        async with room.client(address="192.0.2.2", headers=BEARER) as client:
            assert (await client.get("/api/overview")).status_code == 200
            statuses = [(await client.post("/api/visit", json=ORDER)).status_code for _ in range(10)]
            assert statuses.count(429) >= 5


async def test_guessing_the_token_is_slow(room):
    async with room.client() as client:
        statuses = [
            (await client.post("/login", data={"token": f"guess {i}"})).status_code for i in range(10)
        ]
        assert statuses[0] == 403
        assert statuses[-5:] == [429] * 5


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/....//app.py",
        "/static//etc/passwd",
        "/static/..%5capp.py",
        "/static/%00",
        "/static/",
        "/static",
        "/html/base.html",
        "/..%2f..%2fpyproject.toml",
    ],
)
async def test_no_directory_can_be_read(room, path):
    async with room.client() as client:
        response = await client.get(path)
    assert response.status_code in (301, 303, 307, 404, 405)
    assert "import" not in response.text


async def test_errors_tell_nothing_of_the_inside(room, monkeypatch, caplog):
    async def broken(*_arguments, **_named):
        raise RuntimeError("secret inside")

    monkeypatch.setattr(room.source, "overview", broken)
    async with room.client() as client:
        for path in ("/api/overview", "/metrics"):
            response = await client.get(path)
            assert response.status_code == 500
            assert "secret" not in response.text
            assert "Traceback" not in response.text
    assert "secret inside" in caplog.text  # but the operator can read it


async def test_a_read_only_source_refuses_actions(room):
    from recrawl.web.app import make_app
    from recrawl.web.source import Source

    view = Room()
    view.app = make_app(Source(room.store, room.engine.world.index), room.options)
    async with view.client(headers=BEARER) as client:
        response = await client.post("/api/visit", json=ORDER)
        assert response.status_code == 409
        assert "read-only" in response.json()["detail"]
        assert (await client.post("/api/none", json=ORDER)).status_code == 409
        assert (await client.get("/api/overview")).json()["read_only"] is True

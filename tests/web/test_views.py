"""The pages as HTML, from made-up documents: what they say, and what they never do with foreign text."""

import asyncio
import json
import re
from html.parser import HTMLParser
from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette
from tests.web.made_up import HOSTILE, FakeSource

from recrawl.web import views

GOOD = "https://docs.example.org/guide/start"
BAD = "javascript:alert(1)"


class Elements(HTMLParser):
    """All start tags with their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


class Client:
    """Asks an application directly, and keeps its cookies."""

    def __init__(self, app):
        self._app, self._cookies = app, httpx.Cookies()

    def _ask(self, method, path, **options):
        async def ask():
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", cookies=self._cookies
            ) as client:
                answer = await client.request(method, path, **options)
                self._cookies = client.cookies
                return answer

        return asyncio.run(ask())

    def get(self, path):
        return self._ask("GET", path)

    def post(self, path, data):
        return self._ask("POST", path, data=data)


def client_of(source, *, may_act=True, read_only=False):
    inner = Starlette(routes=views.routes(source))

    async def app(scope, receive, send):
        scope.setdefault("state", {}).update(csrf="form-token", may_act=may_act, read_only=read_only)
        await inner(scope, receive, send)

    return Client(app)


def paths(url=GOOD):
    page = f"/page?url={quote(url, safe='')}"
    return [
        "/",
        "/search",
        "/search?q=fresh",
        "/pages",
        page,
        "/sites",
        "/site?name=docs.example.org",
        "/plan?step=4",
        "/robots?service_step=4",
    ]


@pytest.mark.parametrize("path", paths())
def test_pages_have_a_frame(path):
    answer = client_of(FakeSource()).get(path)
    assert answer.status_code == 200
    tags = Elements(answer.text).tags
    names = [name for name, _ in tags]
    assert names.count("main") == 1
    assert names.count("h1") == 1
    assert ("html", {"lang": "en"}) in tags
    assert any(
        attributes.get("class") == "skip" and attributes.get("href") == "#main" for _, attributes in tags
    )
    identities = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(identities) == len(set(identities))


@pytest.mark.parametrize("url", [GOOD, BAD])
def test_foreign_text_stays_text(url):
    client = client_of(FakeSource(text=HOSTILE, url=url))
    told = 0
    for path in paths(url):
        text = client.get(path).text
        assert HOSTILE not in text
        told += text.count("&lt;script&gt;window.hacked")
        for name, attributes in Elements(text).tags:
            if name == "script":
                assert attributes.get("src", "").startswith("/static/")
            assert name not in ("iframe", "object", "embed", "base", "style")
            assert "style" not in attributes
            assert not [key for key in attributes if key.startswith("on")]
            for key in ("href", "src", "action", "formaction"):
                target = attributes.get(key, "/")
                assert target.startswith(("/", "#", "https://docs.example.org/")), target
            if attributes.get("href", "").startswith("http"):
                assert "noopener" in attributes["rel"]
                assert "nofollow" in attributes["rel"]
    assert told > 10


def test_charts_carry_their_data():
    client = client_of(FakeSource(text="'\"></div><script>1"))
    found = [
        attributes["data-plot"]
        for path in paths()
        for _, attributes in Elements(client.get(path).text).tags
        if "data-plot" in attributes
    ]
    assert len(found) >= 7
    for spec in map(json.loads, found):
        assert len(spec["data"]) == len(spec["series"]) + 1
        assert len({len(column) for column in spec["data"]}) == 1


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", "recrawl run https://"),
        ("/search", "Nothing to search yet"),
        ("/search?q=x", "Nothing found"),
        ("/pages", "No page yet"),
        ("/sites", "No site yet"),
        ("/plan", "Not planned yet"),
        ("/robots", "Not fitted yet"),
    ],
)
def test_empty_pages_say_what_to_do(path, words):
    answer = client_of(FakeSource(empty=True)).get(path)
    assert answer.status_code == 200
    assert words in answer.text


@pytest.mark.parametrize(
    "path", ["/page?url=https%3A%2F%2Fnowhere.example%2F", "/site?name=nowhere", "/page", "/site"]
)
def test_unknown_things_are_not_found(path):
    answer = client_of(FakeSource()).get(path)
    assert answer.status_code == 404
    assert "Not found" in answer.text


@pytest.mark.parametrize(
    "query",
    [
        "sort=nonsense",
        "offset=-1",
        "offset=x",
        "state=odd",
        "limit=1000000",
        "unknown=1",
        "site=" + "x" * 400,
    ],
)
def test_bad_queries_are_refused_in_words(query):
    answer = client_of(FakeSource()).get(f"/pages?{query}")
    assert answer.status_code == 422
    assert "<h1>" in answer.text


def test_steps_out_of_range_are_held():
    client = client_of(FakeSource())
    assert "8 × the present budget" in client.get("/plan?step=99").text
    assert "0.125 × the present budget" in client.get("/plan?step=-99").text
    assert "At the present budget" in client.get("/plan?step=x").text


def test_hits_are_marked_and_say_how_current_they_are():
    text = client_of(FakeSource()).get("/search?q=keep").text
    assert "<mark>keep</mark>" in text
    assert "1.5\u202fmin ago" in text
    assert "83\u202f%" in text
    assert 'offset=10"' in text


@pytest.mark.parametrize(
    ("form", "taken"),
    [
        (("visit", {"url": GOOD}), ("visit", (GOOD,))),
        (("remove", {"url": GOOD}), ("remove", (GOOD,))),
        (("weight", {"url": GOOD, "weight": "2.5"}), ("set_weight", (GOOD, 2.5))),
        (("pause", {"site": "docs.example.org"}), ("pause", ("docs.example.org",))),
        (("budget", {"budget": "120/s"}), ("set_budget", ("120/s",))),
        (("resume", {"site": "docs.example.org"}), ("resume", ("docs.example.org",))),
    ],
)
def test_forms_act_and_go_back_with_a_sentence(form, taken):
    source = FakeSource()
    client = client_of(source)
    answer = client.post(f"/do/{form[0]}", data={"csrf": "form-token", "back": "/sites", **form[1]})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sites")
    assert [(name, arguments) for name, arguments, _ in source.taken] == [taken]
    shown = client.get("/sites")
    assert f"{taken[0]}: done" in shown.text
    assert f"{taken[0]}: done" not in client.get("/sites").text


def test_control_is_switched_with_its_thresholds():
    source = FakeSource()
    form = {"control": "thresholds", "modes": "8, 2", "thresholds": "40", "robots": "16"}
    client_of(source).post("/do/control", data=form)
    ((_, (order,), _),) = source.taken
    assert (order.control, order.robots, order.modes, order.thresholds) == ("thresholds", None, [8, 2], [40])


@pytest.mark.parametrize(
    ("action", "form", "words"),
    [
        ("weight", {"url": GOOD, "weight": "much"}, "must be a number"),
        ("weight", {"url": GOOD, "weight": "-1"}, "weight"),
        ("control", {"control": "sometimes"}, "control"),
        ("control", {"control": "thresholds", "modes": "a, b"}, "whole numbers"),
        ("control", {"control": "fixed", "robots": "0"}, "robots"),
    ],
)
def test_bad_forms_are_refused_in_words(action, form, words):
    source = FakeSource()
    client = client_of(source)
    assert client.post(f"/do/{action}", data=form).status_code == 303
    assert words in client.get("/").text
    assert not source.taken


def test_nobody_acts_without_leave():
    source = FakeSource()
    client = client_of(source, may_act=False)
    client.post("/do/visit", data={"url": GOOD})
    assert not source.taken
    assert "/login" in client.get("/sites").text
    assert re.search(r"<button[^>]*disabled>Pause", client.get("/sites").text)
    assert "Read only" in client_of(source, may_act=False, read_only=True).get("/sites").text


@pytest.mark.parametrize(
    "back", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere", "/a\r\nX: y"]
)
def test_forms_never_lead_elsewhere(back):
    answer = client_of(FakeSource()).post("/do/visit", data={"url": GOOD, "back": back})
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("path", ["/robots", "/plan"])
def test_what_takes_long_is_waited_for(path, monkeypatch):
    monkeypatch.setattr(views, "_PATIENCE_SECONDS", 0.01)

    class Slow(FakeSource):
        async def robots(self, service_factor=1.0):
            await asyncio.sleep(0.1)
            return await super().robots(service_factor)

        async def plan(self, factor=1.0):
            await asyncio.sleep(0.1)
            return await super().plan(factor)

    client = client_of(Slow())
    assert "takes some seconds" in client.get(path).text
    part = client._ask("GET", path, headers={"HX-Request": "true", "HX-Target": "answer"}).text
    assert "takes some seconds" not in part
    assert "<h1>" in part

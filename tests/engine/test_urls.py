import string

import ada_url
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recrawl.engine.urls import (
    Scope,
    TrapOptions,
    Traps,
    canonical_url,
    host_and_port,
    origin_of,
    resolve,
    site_of,
)
from recrawl.errors import ConfigError

HOSTS = st.sampled_from(
    ["example.org", "EXAMPLE.org", "a.b.example.", "127.0.0.1", "0x7f.1", "[::1]", "bücher.example"]
)
TEXT = st.text(alphabet=string.ascii_letters + string.digits + "/.%-_~?&=#;:@+ é\\", max_size=40)
URLS = st.builds(
    "{}://{}{}/{}".format,
    st.sampled_from(["http", "HTTPS"]),
    HOSTS,
    st.sampled_from(["", ":80", ":8080"]),
    TEXT,
)


@given(URLS)
def test_canonical_is_a_fixed_point(url):
    once = canonical_url(url)
    assume(once is not None)
    assert canonical_url(once) == once
    assert ada_url.normalize_url(once) == once
    assert "#" not in once
    assert once.isascii()
    assert not host_and_port(once)[0].endswith(".")


@given(st.text(max_size=60))
def test_nothing_raises(text):
    for url in (text, "http://" + text, "http://example.org/" + text):
        found = canonical_url(url)
        assert found is None or found.startswith(("http://", "https://"))
        resolve(text, "http://example.org/a/b?c")


@given(
    TEXT, st.sampled_from(["http://example.org/", "https://example.org:81/a/b.html?q=1", "http://[::1]/a/"])
)
def test_resolve_agrees_with_the_standard(link, base):
    try:
        expected = canonical_url(ada_url.join_url(base, link))
    except ValueError:
        expected = None
    got = resolve(link, base)
    if link.strip() and not link.strip().startswith("#"):
        assert got == expected
    else:
        assert got is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.org", "http://example.org/"),
        ("http://example.org:80/?", "http://example.org/"),
        ("https://example.org:443/a/./b/../c", "https://example.org/a/c"),
        ("http://example.org./a", "http://example.org/a"),
        ("http://example.org.:8080/a", "http://example.org:8080/a"),
        ("http://example.org/%7Ea%c3%a9", "http://example.org/~a%C3%A9"),
        ("http://example.org/%75?%75tm_source=x", "http://example.org/u"),
        ("http://example.org/?a=1&gclid=7&b=2", "http://example.org/?a=1&b=2"),
        ("http://example.org/?PHPSESSID=7", "http://example.org/"),
        ("http://example.org/x;jsessionid=1F?y", "http://example.org/x?y"),
        ("http://example.org/?b=2&a=1", "http://example.org/?b=2&a=1"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://user:secret@example.org/", None),
        ("http://example.org@10.0.0.1/", None),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("http://", None),
        ("http://.", None),
        ("//example.org/", None),
        ("", None),
        ("http://example.org/" + "a" * 9000, None),
    ],
)
def test_canonical_examples(url, expected):
    assert canonical_url(url) == expected


def test_parts():
    assert site_of("http://[::1]:8080/a") == "[::1]:8080"
    assert origin_of("http://[::1]:8080/a") == "http://[::1]:8080"
    assert host_and_port("https://example.org/a") == ("example.org", 443)


@pytest.mark.parametrize(
    ("seed", "inside", "outside"),
    [
        (
            "https://example.org",
            ["http://example.org/a?b", "https://www.example.org/"],
            ["https://evil-example.org/"],
        ),
        (
            "https://example.org/docs",
            ["https://example.org/docs", "https://example.org/docs/a", "https://example.org/docs?x"],
            ["https://example.org/docsx"],
        ),
        ("https://example.org/docs/index.html", ["https://example.org/docs/a"], ["https://example.org/"]),
        (
            "http://127.0.0.1:8000/",
            ["http://127.0.0.1:8000/x"],
            ["http://127.0.0.1:8001/x", "http://127.0.0.1/x"],
        ),
    ],
)
def test_scope(seed, inside, outside):
    scope = Scope.of([seed])
    assert all(map(scope.contains, inside))
    assert not any(map(scope.contains, outside))


def test_scope_patterns_depth_and_hosts():
    scope = Scope.of(
        ["http://a.example/"], hosts=["b.example"], include=[r"\.html$"], exclude=["/x/"], max_depth=2
    )
    assert scope.contains("http://b.example/y/1.html", 2)
    assert not scope.contains("http://b.example/y/1.html", 3)
    assert not scope.contains("http://a.example/x/1.html")
    assert not scope.contains("http://a.example/1.png")


def test_a_fixed_list_is_complete():
    scope = Scope.of(["http://a.example/1", "http://b.example/2"], fixed=True)
    assert scope.contains("http://b.example/2", 99)
    assert not scope.contains("http://a.example/2")


@pytest.mark.parametrize(
    "bad", [{"seeds": ["nonsense"]}, {"seeds": [], "include": ["("]}, {"seeds": [], "max_depth": -1}]
)
def test_impossible_scope(bad):
    with pytest.raises(ConfigError):
        Scope.of(**bad)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a/a/a/a/",
        "http://example.org/x/a/b/a/b/a/b/a/b/",
        "http://example.org/" + "/".join(map(str, range(30))),
        "http://example.org/?" + "&".join(f"p{n}=1" for n in range(20)),
        "http://example.org/?q=" + "x" * 300,
        "http://example.org/" + "x" * 1100,
    ],
)
def test_traps(url):
    assert Traps().admit(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://example.org/2024/05/17/a-story",
        "http://example.org/en/docs/en/intro",
        "http://example.org/a/b/c/d/e/f/g/h",
        "http://example.org/search?q=word&page=3",
    ],
)
def test_no_traps(url):
    assert Traps().admit(url) is None


def bounded(traps, urls):
    return sum(traps.admit(url) is None for url in urls)


def test_endless_calendars_sessions_and_numbers_are_bounded():
    options = TrapOptions(max_dated_pages=10, max_query_pages=20, max_numbered_pages=30)
    months = [(year, month) for year in range(2000, 2010) for month in range(1, 13)]
    for shape in (
        "calendar?month={}-{:02d}",
        "events/{}/{:02d}/",
        "events/{}-{:02d}",
        "cal?year={}&month={}",
    ):
        assert bounded(Traps(options), (f"http://example.org/{shape.format(y, m)}" for y, m in months)) <= 10
    assert bounded(Traps(options), (f"http://example.org/?sid={n:x}z" for n in range(100))) == 20
    assert bounded(Traps(options), (f"http://example.org/room/{n}" for n in range(100))) == 30
    assert bounded(Traps(options), (f"http://example.org/a?x={n}&y=1" for n in range(15))) == 15


def test_a_page_counts_once_however_often_it_is_found():
    traps = Traps(TrapOptions(max_query_pages=2))
    urls = ["http://example.org/?a=1", "http://example.org/?a=2"] * 5
    assert bounded(traps, urls) == 10
    assert traps.admit("http://example.org/?a=3")
    assert bounded(traps, urls) == 10


def test_impossible_trap_options():
    with pytest.raises(ConfigError, match="max_segments"):
        TrapOptions(max_segments=0)

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.engine.extract import digest_of, extract
from recrawl.engine.options import ExtractOptions
from recrawl.engine.records import Access, Link, Outcome
from recrawl.errors import ConfigError


def access(body, type_="text/html", **more):
    body = body.encode() if isinstance(body, str) else body
    url = more.pop("url", "http://example.org/a/b.html")
    return Access(
        url=url, started=0.0, ended=1.0, outcome=Outcome.CONTENT, body=body, content_type=type_, **more
    )


def content(body, options=None, **more):
    found = extract(access(body, **more), options)
    assert found.outcome is Outcome.CONTENT, found.reason
    return found.content


PAGE = """<!doctype html><html lang="de-AT"><head><title> A
 title </title><link rel="canonical" href="/canon"></head>
<body><header><h1>Site name</h1></header><nav><a href="/nav">menu</a></nav>
<main><article><header><h1>Real heading</h1></header>
<p>Some <b>bold</b>ness and <code>f<span>(x)</span></code>.</p><p>Second&nbsp;&lt;tag&gt; &amp; more</p>
<ul><li>one</li><li>two</li></ul><script>var x = "never";</script><style>p {}</style>
<aside>an offer</aside><nav>page menu</nav></article></main>
<footer>footer text <a href="c.html" rel="nofollow">c</a></footer></body></html>"""


def test_the_main_content_and_nothing_around_it():
    found = content(PAGE)
    assert found.title == "A title"
    assert found.text == "Real heading\nSome boldness and f(x).\nSecond <tag> & more\none\ntwo"
    assert found.headings == ("Real heading",)
    assert found.language == "de-AT"
    assert found.canonical == "http://example.org/canon"
    assert found.index
    assert found.links == (Link("http://example.org/nav"), Link("http://example.org/a/c.html", follow=False))
    assert len(found.digest) == 16


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("an offer", "another offer"),
        ("footer text", "12:00:01"),
        (">menu<", ">new menu<"),
        ("Site name", "Site, renamed"),
        ('"never"', '"nonce"'),
        ("<p>Some", "\n\n<p   class=x>Some"),
        ("page menu", "other"),
    ],
)
def test_what_is_no_change(before, after):
    assert before in PAGE
    assert content(PAGE.replace(before, after)).digest == content(PAGE).digest


@pytest.mark.parametrize(
    ("before", "after"), [("Second", "Third"), ("A\n title", "B"), ("Real", "True"), ("<li>two</li>", "")]
)
def test_what_is_a_change(before, after):
    assert content(PAGE.replace(before, after)).digest != content(PAGE).digest


def test_without_main_the_body_counts():
    found = content("<body><header>H</header><nav>N</nav><div>text</div><div role=navigation>M</div></body>")
    assert found.text == "text"


def test_nested_parts_are_removed_once():
    inner = "<nav><aside>1</aside><nav>2</nav></nav>"
    page = f"<header>{inner}<footer>{inner}</footer></header><div>text</div><aside><header>{inner}</header></aside>"
    assert content(page).text == "text"
    assert (
        content(f"<div class=x>a<div class=x>b</div></div>{page}", ExtractOptions(remove=(".x", "nav"))).text
        == "text"
    )


@given(
    st.recursive(
        st.just("t"),
        lambda inner: st.builds(
            "<{0}>{1}</{0}>".format,
            st.sampled_from(["nav", "header", "main", "article", "div", "footer", "aside", "section", "p"]),
            st.lists(inner, max_size=4).map("".join),
        ),
    )
)
def test_any_nesting_of_parts(page):
    options = ExtractOptions(remove=("div div", "section"), content=("article", "main"))
    assert content(page).text.replace("t", "").strip() == ""
    assert content(page, options).text.replace("t", "").strip() == ""


def test_preformatted_text_keeps_its_lines():
    page = (
        "<main><p>a\n  b</p><pre class=x><code>if <span>x</span>:\n    y  = 1\n\n</code></pre><p>c</p></main>"
    )
    assert content(page).text == "a b\nif x:\n    y  = 1\nc"


def test_one_article_is_the_main_content_but_several_are_a_list():
    assert content("<body><div>around</div><article>a</article>").text == "a"
    assert content("<body><div>around</div><article>a</article><article>b</article>").text == "around\na\nb"


def test_an_empty_main_element_is_not_trusted():
    assert content("<main></main><div>the text is elsewhere</div>").text == "the text is elsewhere"


def test_selectors_and_ignore_patterns():
    page = "<main><div class=body>text at 12:30</div><div class=related>other</div></main><div class=body>two</div>"
    assert content(page, ExtractOptions(content=(".body",))).text == "text at 12:30\ntwo"
    assert content(page, ExtractOptions(content=(".nothing",))).text == "text at 12:30\nother"
    assert content(page, ExtractOptions(remove=(".related",))).text == "text at 12:30"
    clock = ExtractOptions(ignore=(r"\d\d:\d\d",))
    later = page.replace("12:30", "12:31")
    assert content(page, clock).digest == content(later, clock).digest
    assert content(page).digest != content(later).digest
    assert "12:30" in content(page, clock).text  # still searchable


@pytest.mark.parametrize(
    ("head", "header", "index", "follow"),
    [
        ("", "", True, True),
        ('<meta name="robots" content="noindex">', "", False, True),
        ('<meta name="ROBOTS" content="NOFOLLOW, noarchive">', "", True, False),
        ('<meta name="robots" content="none">', "", False, False),
        ("", "noindex, nofollow", False, False),
        ("", "googlebot: noindex", True, True),
        ("", "recrawl: noindex", False, True),
        ("", "unavailable_after: 25 Jun 2030 15:00:00 PST", True, True),
        ('<meta name="googlebot" content="noindex">', "", True, True),
    ],
)
def test_wishes(head, header, index, follow):
    found = content(f"<head>{head}</head><body><a href='/x'>x</a>", robots_tag=header)
    assert (found.index, found.links[0].follow) == (index, follow)


def test_links():
    page = """<base href="/base/"><a href="x.html#part">1</a><a href="x.html" rel="nofollow">again</a>
    <a href="mailto:a@b">m</a><a href="javascript:void(0)">j</a><a href="#top">t</a><a href=" y z ">s</a>
    <area href="?q=1"><a href="//other.example/p">o</a><a>none</a><a href="">empty</a><a href="http://[bad">bad</a>"""
    assert [link.url for link in content(page).links] == [
        "http://example.org/base/x.html",
        "http://example.org/base/y%20z",
        "http://example.org/base/?q=1",
        "http://other.example/p",
    ]
    assert all(link.follow for link in content(page).links)
    many = "".join(f"<a href=/{n}>x</a>" for n in range(100))
    assert len(content(many, ExtractOptions(max_links=10)).links) == 10


@pytest.mark.parametrize(
    "page",
    [
        "<title>App</title><div id=root></div><script src=/b.js></script>",
        "<div id=__next></div><script>1</script><noscript>You need to enable JavaScript to run this app.</noscript>",
        "<body><noscript>Please enable JavaScript to continue</noscript><script>1</script></body>",
        "<body><p>This site requires JavaScript.</p><script>1</script></body>",
        "<body><script>document.write('x')</script></body>",
    ],
)
def test_pages_that_need_a_script(page):
    found = extract(access(page))
    assert (found.outcome, found.content) == (Outcome.NEEDS_SCRIPT, None)
    assert "JavaScript" in found.reason


@pytest.mark.parametrize(
    "page",
    [
        "<p>short</p>",
        "<p>short</p><script>1</script>",
        f"<div id=root><p>{'rendered on the server ' * 20}</p></div><script>1</script>",
        f"<p>{'How to enable JavaScript in your browser. ' * 20}</p><script>1</script>",
        "",
    ],
)
def test_pages_that_do_not(page):
    assert extract(access(page)).outcome is Outcome.CONTENT


def test_plain_text():
    found = content("First line\n\n  second  \n", type_="text/plain")
    assert (found.title, found.text, found.links) == ("First line", "First line\n\n  second", ())


@pytest.mark.parametrize(
    ("body", "header"),
    [
        ("<title>café</title>".encode(), "utf-8"),
        ("<title>café</title>".encode("latin-1"), "ISO-8859-1"),
        ("<title>café</title>".encode("latin-1"), None),
        ("<meta charset=iso-8859-2><title>café</title>".encode("iso-8859-2"), None),
        ("<title>café</title>".encode(), "iso-8859-1"),  # the server is wrong
        ("<title>café</title>".encode(), "no-such-charset"),
        ("<title>café</title>".encode(), "base64"),
        ("<title>café</title>".encode("utf-16"), None),
        (b"\xef\xbb\xbf" + "<title>café</title>".encode(), "latin-1"),
        ("<meta charset=utf-16><title>café</title>".encode(), None),
    ],
)
def test_charsets(body, header):
    assert content(body, encoding=header).title == "café"


def test_japanese_and_russian():
    assert content("<title>日本語</title>".encode("shift_jis"), encoding="Shift_JIS").title == "日本語"
    assert content("<title>日本語</title>".encode("iso2022_jp"), encoding="iso-2022-jp").title == "日本語"
    assert content("<meta charset='windows-1251'><title>Привет</title>".encode("cp1251")).title == "Привет"


def test_type_is_guessed_when_missing():
    assert content("<title>t</title>", type_="").title == "t"
    assert content("just words", type_="").text == "just words"
    assert extract(access(b"\x89PNG\r\n\x1a\n\0\0\0", type_="")).outcome is Outcome.UNREADABLE


@given(st.binary(max_size=2000), st.sampled_from(["text/html", "text/plain", "", "application/pdf"]))
def test_no_body_raises(body, type_):
    found = extract(access(body, type_=type_))
    assert (found.content is not None) == (found.outcome is Outcome.CONTENT)


@given(st.text(max_size=300))
def test_text_survives_markup(text):
    import html

    words = " ".join(text.replace("\x1f", " ").split())
    page = f"<main><p>{html.escape(words)}</p></main>"
    if "\0" not in words and not any("\ud800" <= c <= "\udfff" for c in words):
        assert " ".join(content(page).text.split()) == words


def test_wide_pages_end():
    assert len(content(b"<p>x</p>" * 100_000, ExtractOptions(max_text_characters=1000)).text) == 1000


def test_pdf():
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.add_metadata({"/Title": "A paper"})
    file = io.BytesIO()
    writer.write(file)
    assert content(file.getvalue(), type_="application/pdf").title == "A paper"
    assert extract(access(b"%PDF-1.4 broken", type_="application/pdf")).outcome is Outcome.UNREADABLE


@given(st.text(), st.text(), st.text(), st.text())
def test_digests_tell_title_from_text(title, text, other_title, other_text):
    same = (title.split(), text.split()) == (other_title.split(), other_text.split())
    if not same and "\0" not in title + text + other_title + other_text:
        words = [" ".join(part.split()) for part in (title, text, other_title, other_text)]
        if words[:2] != words[2:]:
            assert digest_of(words[0], words[1]) != digest_of(words[2], words[3])


@pytest.mark.parametrize(
    "bad", [{"ignore": ("(",)}, {"content": ("[[",)}, {"remove": ("a >>> b",)}, {"max_links": 0}]
)
def test_impossible_options(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        ExtractOptions(**bad)

"""The compiled walk over serialised HTML against a slow one of regular expressions."""

import html
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from recrawl.engine._kernels import text_of_html

INLINE = (
    "a abbr b bdi cite code del em font i ins kbd label mark q s samp small span strong sub sup time tt u var"
)
NEVER = "template noscript svg math object canvas select button script style iframe"
AROUND = "nav aside footer"
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<(/?)([a-z0-9]+)[^>]*>")


def walked(source, around=True):
    data = np.frombuffer(source.encode(), dtype=np.uint8)
    out, places = np.empty(data.size + 1, dtype=np.uint8), np.empty(20, dtype=np.int64)
    size, found, _ = text_of_html(data, around, out, places)
    text = out[:size].tobytes()
    headings = [" ".join(text[places[2 * n] : places[2 * n + 1]].decode().split()) for n in range(found)]
    return text.decode(), headings


def has_roles(source):
    data = np.frombuffer(source.encode(), dtype=np.uint8)
    return text_of_html(data, True, np.empty(data.size + 1, dtype=np.uint8), np.empty(20, dtype=np.int64))[2]


def test_roles_of_inner_elements_are_told():
    tree = LexborHTMLParser(
        '<main role=main><p class="x" role=search>a</p><i ARIA-hidden=true>b</i> role="search"</main>'
    )
    inner = [tree.css_first("p").html, tree.css_first("i").html]
    assert [has_roles(f"<main>{part}</main>") for part in inner] == [True, True]
    assert not has_roles('<main role="main"><p class="role" title="aria-hidden">a role="search" b</p></main>')
    assert not has_roles('<main><!-- <p role="search"> --><script>a role="b" </script></main>')


def slowly(source, around=True):
    """The same by splitting at tags: what a reader would write first."""
    unwanted = set(NEVER.split()) | (set(AROUND.split()) if around else set())
    lines, present, pre, skipping, depth, end = [], "", False, None, 0, 0
    source = COMMENT.sub("", source)

    def close(text, was_pre):
        text = html.unescape(text)
        if was_pre:
            rows = (row.rstrip() for row in text.splitlines())
            lines.extend(row for row in rows if row)
        elif text.split():
            lines.append(" ".join(text.split()))

    for match in [*TAG.finditer(source), None]:
        if skipping is None:
            present += source[end : match.start() if match else len(source)]
        if match is None:
            break
        end, closes, name = match.end(), bool(match[1]), match[2]
        if skipping is not None:
            depth += (name == skipping) * (-1 if closes else 1)
            skipping = skipping if depth else None
        elif name not in INLINE.split():
            close(present, pre)
            present, pre = "", name == "pre" and not closes
            if name in unwanted and not closes:
                skipping, depth = name, 1
    close(present, pre)
    return "\n".join(lines)


texts = st.text(alphabet='ab é漢\u00a0\u2003\u2028\u3000 \t\n\r&<>";x\x1c\x85', max_size=12)
names = st.sampled_from(f"{INLINE} {NEVER} {AROUND} div p li h1 h2 pre table td br blockquote main".split())


@st.composite
def pages(draw, depth=3):
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        if depth and draw(st.booleans()):
            name = draw(names)
            parts.append(f'<{name} title="a>b">{draw(pages(depth=depth - 1))}</{name}>')
        else:
            parts.append(html.escape(draw(texts)))
    return "".join(parts)


@given(pages(), st.booleans())
def test_the_same_text(page, around):
    source = LexborHTMLParser(page).body.html
    assert walked(source, around)[0] == slowly(source, around)


def test_headings():
    text, headings = walked("<body><h1>A <em>b</em></h1>c<h2>d<nav>no</nav></h2><h3></h3><p>e</p></body>")
    assert text == "A b\nc\nd\ne"
    assert headings == ["A b", "d", ""]


def test_comments_are_nothing():
    assert walked("<p>a<!-- x > y -->b<!-->c</p>")[0] == "ab"


def test_more_headings_than_there_is_room_for():
    text, headings = walked("<h1>a</h1>" * 30)
    assert text.count("a") == 30
    assert headings == ["a"] * 10


def test_broken_markup_ends():
    for source in (
        "<",
        "</",
        "<p",
        "a<script>b",
        "<!--",
        "&",
        "&am",
        "<nav><nav></nav>",
        "&nbsp;",
        "<pre> \n \n",
    ):
        assert isinstance(walked(source)[0], str)

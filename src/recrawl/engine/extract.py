"""From a body to what is indexed: title, main text, headings, links, and the digest that tells a change.

Navigation, headers, footers, asides and scripts are removed, then what the site's settings name; the digest is taken of
title and text after the ignore patterns, so that a clock or a rotating advertisement is no change. The functions here
take and return plain values and touch nothing else: they run in the event loop, a thread or another process.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from recrawl.engine._headers import HTML, PDF
from recrawl.engine.charset import decode
from recrawl.engine.complexity import too_complex
from recrawl.engine.options import ExtractOptions
from recrawl.engine.records import Content, Link, Outcome
from recrawl.engine.urls import origin_of, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selectolax.lexbor import LexborNode

    from recrawl.engine.records import Access

__all__ = ["Extraction", "digest_of", "extract"]

# Elements around the main content; those that are so by their name are left out by the kernel that writes the text.
_AROUND_BY_ROLE = "[role=navigation], [role=banner], [role=contentinfo], [role=search], [aria-hidden=true]"
_AROUND = f"nav, aside, footer, {_AROUND_BY_ROLE}"
_ARTICLE_HEADERS = "main header, article header, [role=main] header"
_MAIN = "main, [role=main]"
# A main element inside one of these is not trusted at once.
_DOUBTFUL = {
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "select", "button", "nav",
    "aside", "footer", "header",
}  # fmt: skip
_SCRIPT_ROOTS = "#root, #app, #__next, #__nuxt, #___gatsby, app-root, [ng-app], [data-reactroot]"
_NEEDS_SCRIPT = re.compile(
    r"(?:enable|requires?|activate|turn on|need)\W+(?:\w+\W+){0,4}javascript", re.IGNORECASE
)
_FEW_CHARACTERS = 200  # less text than this, with scripts: look whether it is a shell
_MAX_HEADINGS = 500
_REMEMBERED = 2048  # links of pages with the same base


@dataclass(frozen=True, slots=True)
class Extraction:
    """What came of a body: content (outcome CONTENT), or why there is none (NEEDS_SCRIPT, UNREADABLE)."""

    outcome: Outcome
    content: Content | None = None
    reason: str = ""


def extract(access: Access, options: ExtractOptions | None = None) -> Extraction:
    """Extract the content of an access that brought a body."""
    options = options or ExtractOptions()
    kind = access.content_type or _sniff(access.body)
    if kind in PDF:
        return _extract_pdf(access, options)
    if b"\0" in access.body[:1024] and not access.body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Extraction(Outcome.UNREADABLE, reason="binary data where text was promised")
    if kind in HTML:
        return _extract_html(access, options)
    text, _ = decode(access.body, access.encoding, look_inside=False)
    lines = [line.rstrip() for line in text.splitlines()]
    title = next((line.strip() for line in lines if line.strip()), "")[:200]
    return _finish(title, "\n".join(lines).strip(), (), (), None, _directives(access.robots_tag), options)


def digest_of(title: str, text: str, ignore: tuple[str, ...] = ()) -> bytes:
    r"""Sixteen bytes that change when title or text change, apart from what the patterns match.

    >>> digest_of("a", "at 12:30", (r"\d+:\d+",)) == digest_of("a", "at 12:31", (r"\d+:\d+",))
    True
    """
    whole = f"{title}\0{text}"
    if ignore:
        for pattern in _patterns(ignore):
            whole = pattern.sub("", whole)
        whole = " ".join(whole.split())
    # How the text is cut into lines is markup, not content.
    return hashlib.blake2b(whole.replace("\n", " ").encode("utf-8", "replace"), digest_size=16).digest()


@lru_cache(maxsize=256)
def _patterns(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


def _sniff(body: bytes) -> str:
    start = body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(b"%pdf-"):
        return "application/pdf"
    return "text/html" if start.startswith(b"<") else "text/plain"


def _directives(*values: str) -> frozenset[str]:
    """Words of X-Robots-Tag and meta robots; those for another robot (``googlebot: noindex``) do not count."""
    found: set[str] = set()
    for value in values:
        for part in value.lower().split(","):
            agent, colon, word = part.partition(":")
            if colon and agent.strip() in {
                "unavailable_after",
                "max-snippet",
                "max-image-preview",
                "max-video-preview",
            }:
                continue
            if colon and agent.strip() not in {"recrawl", "robots", "*"}:
                continue
            found.add((word if colon else agent).strip())
    return frozenset(found)


def _finish(
    title: str,
    text: str,
    headings: tuple[str, ...],
    links: tuple[Link, ...],
    canonical: str | None,
    directives: frozenset[str],
    options: ExtractOptions,
    language: str | None = None,
) -> Extraction:
    text = text[: options.max_text_characters]
    if directives & {"nofollow", "none"}:
        links = tuple(Link(link.url, follow=False) for link in links)
    content = Content(
        title=title,
        text=text,
        headings=headings,
        digest=digest_of(title, text, options.ignore),
        links=links,
        canonical=canonical,
        index=not directives & {"noindex", "none"},
        language=language,
    )
    return Extraction(Outcome.CONTENT, content)


def _extract_html(access: Access, options: ExtractOptions) -> Extraction:
    source, encoding = decode(access.body, access.encoding, look_inside=True)
    page = access.body if encoding == "utf-8" else source.encode("utf-8", "replace")
    reason = too_complex(page)
    if reason is not None:
        return Extraction(Outcome.UNREADABLE, reason=reason)
    tree = LexborHTMLParser(page)
    links, canonical, words = _references(tree, access.final_url or access.url, options.max_links)
    directives = _directives(*filter(None, (access.robots_tag, *words)))
    title = _line(node.text()) if (node := tree.css_first("head > title, title")) else ""
    root = tree.css_first("html")
    language = (root.attributes.get("lang") or "").strip()[:35] or None if root else None
    text, headings = _content(tree, options)
    if len(text) < _FEW_CHARACTERS and _needs_script(page, text):
        return Extraction(Outcome.NEEDS_SCRIPT, reason="nothing to read without JavaScript")
    title = title or (headings[0] if headings else "")
    return _finish(title, text, headings, links, canonical, directives, options, language)


def _references(
    tree: LexborHTMLParser, url: str, most: int
) -> tuple[tuple[Link, ...], str | None, list[str]]:
    """Links, rel=canonical, and what meta robots says: all from one walk over the page."""
    base = canonical = None
    hrefs: dict[str, bool] = {}  # and whether one of the links with it is to be followed
    words = []
    for node in tree.css("a[href], area[href], base[href], link[rel][href], meta[name][content]"):
        attributes = node.attributes
        href = attributes.get("href")
        if href is None:
            if (attributes.get("name") or "").strip().lower() in {"robots", "recrawl"}:
                words.append(attributes.get("content") or "")
            continue
        name = node.tag
        if name == "link":
            if canonical is None and "canonical" in (attributes.get("rel") or "").lower().split():
                canonical = href
        elif name == "base":
            base = href if base is None else base
        elif not hrefs.get(href):
            rel = attributes.get("rel")
            hrefs[href] = not (rel and {"nofollow", "sponsored", "ugc"} & set(rel.lower().split()))
    start = url if base is None else (resolve(base, url) or url)
    return _links(hrefs, start, most), None if canonical is None else resolve(canonical, start), words


def _links(hrefs: dict[str, bool], base: str, most: int) -> tuple[Link, ...]:
    origin, directory = f"{origin_of(base)}/", base.partition("?")[0].rpartition("/")[0] + "/"
    from_origin, from_directory = _known_links(origin), _known_links(directory)
    found: dict[str, Link] = {}
    for href, follow in hrefs.items():
        first = href[:1]  # tells how much of the base matters, so that pages share what is remembered
        if first <= " " or first == "?":
            link = _link(href, base)
        else:
            start, known = (origin, from_origin) if first == "/" else (directory, from_directory)
            link = known[href] if href in known else _remembered(href, start, known)
        if link is None:
            continue
        if follow:
            found[link.url] = link
        else:
            found.setdefault(link.url, Link(link.url, follow=False))
        if len(found) >= most:
            break
    return tuple(found.values())


@lru_cache(maxsize=64)  # most links of a site's pages are the same
def _known_links(base: str) -> dict[str, Link | None]:  # noqa: ARG001
    """Links by what is written, of pages with this base; the cache remembers it."""
    return {}


def _remembered(href: str, base: str, known: dict[str, Link | None]) -> Link | None:
    if len(known) >= _REMEMBERED:
        known.clear()
    link = known[href] = _link(href, base)
    return link


def _link(href: str, base: str) -> Link | None:
    url = resolve(href, base)
    return None if url is None else Link(url, follow=True)


def _needs_script(page: bytes, text: str) -> bool:
    """Whether a page with little text is a shell that a script fills."""
    shell = _script_shell(LexborHTMLParser(page))
    return bool(shell) and (shell == "root" or not text or _NEEDS_SCRIPT.search(text) is not None)


def _script_shell(tree: LexborHTMLParser) -> str:
    """``root`` when an empty element waits to be filled by a script, ``noscript`` when the page says so itself."""
    if tree.css_first("script") is None:
        return ""
    for node in tree.css(_SCRIPT_ROOTS):
        if not node.text(strip=True):
            return "root"
    for node in tree.css("noscript"):
        if _NEEDS_SCRIPT.search(node.text()):
            return "root"
    return "script"


def _content(tree: LexborHTMLParser, options: ExtractOptions) -> tuple[str, tuple[str, ...]]:
    """The main text and its headings."""
    for selector in options.remove:
        for node in reversed(tree.css(selector)):  # inner ones first: outer ones take theirs with them
            node.decompose()
    if options.content:
        chosen = [node for selector in options.content for node in tree.css(selector)]
        if chosen:
            return _joined([_text_of(node.html or "", around=False) for node in chosen])
    first = tree.css_first(_MAIN)
    if first is not None:
        if _is_trusted(first) and (found := _text_around(first))[0]:
            return found
        for node in tree.css(_MAIN)[1:]:
            if _is_trusted(node) and (found := _text_around(node))[0]:
                return found
    return _content_of_body(tree)


def _is_trusted(node: LexborNode) -> bool:
    """Whether no element around a main element would be removed with it."""
    outer = node.parent
    while outer is not None and outer.tag not in ("body", "html", "-undef"):
        if outer.tag in _DOUBTFUL or {"role", "aria-hidden"} & outer.attributes.keys():
            return False
        outer = outer.parent
    return True


def _text_around(node: LexborNode) -> tuple[str, tuple[str, ...]]:
    """Text of a main element, without what is not main content."""
    text, headings, roles = _read(node.html or "", around=True)
    if roles:
        for inner in reversed(node.css(_AROUND_BY_ROLE)):
            inner.decompose()
        return _text_of(node.html or "", around=True)
    return text, headings


def _content_of_body(tree: LexborHTMLParser) -> tuple[str, tuple[str, ...]]:
    inner = {node.mem_id for node in tree.css(_ARTICLE_HEADERS)}
    for node in reversed(tree.css(f"{_AROUND}, header")):
        if node.mem_id not in inner:
            node.decompose()
    articles = tree.css("article")
    for node in (*tree.css(_MAIN), *(articles if len(articles) == 1 else ())):
        if (found := _text_of(node.html or "", around=True))[0]:
            return found
    return _text_of(tree.body.html or "", around=True) if tree.body is not None else ("", ())


def _joined(parts: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[str, tuple[str, ...]]:
    text = "\n".join(text for text, _ in parts if text)
    return text, tuple(line for _, lines in parts for line in lines)[:_MAX_HEADINGS]


def _text_of(html: str, *, around: bool) -> tuple[str, tuple[str, ...]]:
    """Text of serialised HTML, a line for each block, and its headings; `around`: without navigation and the like."""
    return _read(html, around=around)[:2]


def _read(html: str, *, around: bool) -> tuple[str, tuple[str, ...], bool]:
    """The same, and whether elements inside have roles or are hidden."""
    from recrawl.engine._kernels import text_of_html

    data = np.frombuffer(html.encode("utf-8", "replace"), dtype=np.uint8)
    out = np.empty(data.size + 1, dtype=np.uint8)
    places = np.empty(2 * _MAX_HEADINGS, dtype=np.int64)
    size, found, roles = text_of_html(data, around, out, places)
    text = out[:size].tobytes()
    pairs = places[: 2 * found].tolist()
    lines = (_line(text[a:b].decode()) for a, b in zip(pairs[::2], pairs[1::2], strict=True))
    return text.decode(), tuple([line for line in lines if line]), roles


def _line(text: str) -> str:
    return " ".join(text.split())[:1000]


def _extract_pdf(access: Access, options: ExtractOptions) -> Extraction:
    import io
    import logging

    from recrawl.errors import require_extra

    pypdf = require_extra("pypdf", "pdf")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # broken files are an outcome here, not news
    try:
        reader = pypdf.PdfReader(io.BytesIO(access.body))
        title = _line(str((reader.metadata or {}).get("/Title") or ""))
        pages, length = [], 0
        for page in reader.pages:
            pages.append(page.extract_text())
            length += len(pages[-1])
            if length > options.max_text_characters:
                break
    except Exception as error:  # a parser of hostile files raises anything
        return Extraction(Outcome.UNREADABLE, reason=f"a PDF that cannot be read ({type(error).__name__})")
    text = "\n".join(line for page in pages for line in map(_line, page.splitlines()) if line)
    return _finish(
        title or text.partition("\n")[0][:200], text, (), (), None, _directives(access.robots_tag), options
    )

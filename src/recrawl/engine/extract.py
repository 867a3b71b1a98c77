"""From a body to what is indexed: title, main text, headings, links, and the digest that tells a change.

Navigation, headers, footers, asides and scripts are removed, then what the site's settings name; the digest is taken of
title and text after the ignore patterns, so that a clock or a rotating advertisement is no change. The functions here
take and return plain values and touch nothing else: they run in the event loop, a thread or another process.
"""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from recrawl.engine._headers import HTML, PDF
from recrawl.engine.charset import decode
from recrawl.engine.complexity import too_complex
from recrawl.engine.options import ExtractOptions
from recrawl.engine.records import Content, Link, Outcome
from recrawl.engine.urls import resolve

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from recrawl.engine.records import Access

__all__ = ["Extraction", "digest_of", "extract"]

_NEVER_TEXT = [
    "script",
    "style",
    "template",
    "noscript",
    "svg",
    "math",
    "iframe",
    "object",
    "canvas",
    "select",
    "button",
]
_AROUND = "nav, aside, footer, [role=navigation], [role=banner], [role=contentinfo], [role=search], [aria-hidden=true]"
_ARTICLE_HEADERS = "main header, article header, [role=main] header"
_MAIN = "main, [role=main]"
# Tags that end a line: all but those of elements inside a line. Serialised, texts and attributes have < and > escaped.
_BLOCK = re.compile(
    r"(<(?!/?(?:a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|nobr|q|s|samp|small|"
    r"span|strike|strong|sub|sup|time|tt|u|var|wbr)[ >])[^>]*>)"
)
_TAG = re.compile(r"<[^>]*>")
_SCRIPT_ROOTS = "#root, #app, #__next, #__nuxt, #___gatsby, app-root, [ng-app], [data-reactroot]"
_NEEDS_SCRIPT = re.compile(
    r"(?:enable|requires?|activate|turn on|need)\W+(?:\w+\W+){0,4}javascript", re.IGNORECASE
)
_FEW_CHARACTERS = 200  # less text than this, with scripts: look whether it is a shell
_MAX_HEADINGS = 500


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
    base = _base(tree, access.final_url or access.url)
    links = _links(tree, base, options.max_links)
    canonical, directives = _head(tree, base, access.robots_tag)
    title = _line(node.text()) if (node := tree.css_first("head > title, title")) else ""
    root = tree.css_first("html")
    language = (root.attributes.get("lang") or "").strip()[:35] or None if root else None
    shell = _script_shell(tree)
    tree.strip_tags(_NEVER_TEXT)
    parts = _content_nodes(tree, options)
    text = "\n".join(filter(None, (_text_of(part) for part in parts)))
    headings = tuple(
        line
        for part in parts
        for node in part.css("h1, h2, h3, h4, h5, h6")[:_MAX_HEADINGS]
        if (line := _line(node.text()))
    )[:_MAX_HEADINGS]
    if shell and len(text) < _FEW_CHARACTERS and (shell == "root" or not text or _NEEDS_SCRIPT.search(text)):
        return Extraction(Outcome.NEEDS_SCRIPT, reason="nothing to read without JavaScript")
    title = title or (headings[0] if headings else "")
    return _finish(title, text, headings, links, canonical, directives, options, language)


def _base(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    return (resolve(node.attributes.get("href") or "", url) or url) if node else url


def _links(tree: LexborHTMLParser, base: str, most: int) -> tuple[Link, ...]:
    found: dict[str, bool] = {}
    for node in tree.css("a[href], area[href]"):
        attributes = node.attributes
        url = resolve(attributes.get("href") or "", base)
        if url is None:
            continue
        rel = attributes.get("rel")
        follow = not (rel and {"nofollow", "sponsored", "ugc"} & set(rel.lower().split()))
        found[url] = found.get(url, False) or follow
        if len(found) >= most:
            break
    return tuple(Link(url, follow) for url, follow in found.items())


def _head(tree: LexborHTMLParser, base: str, robots_tag: str) -> tuple[str | None, frozenset[str]]:
    """rel=canonical, and what meta robots and X-Robots-Tag say together."""
    canonical, words = None, [robots_tag] if robots_tag else []
    for node in tree.css("link[rel][href], meta[name][content]"):
        attributes = node.attributes
        if node.tag == "link":
            if canonical is None and "canonical" in (attributes.get("rel") or "").lower().split():
                canonical = resolve(attributes.get("href") or "", base)
        elif (attributes.get("name") or "").strip().lower() in {"robots", "recrawl"}:
            words.append(attributes.get("content") or "")
    return canonical, _directives(*words)


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


def _content_nodes(tree: LexborHTMLParser, options: ExtractOptions) -> list[LexborNode]:
    for selector in options.remove:
        for node in reversed(tree.css(selector)):  # inner ones first: outer ones take theirs with them
            node.decompose()
    if options.content:
        chosen = [node for selector in options.content for node in tree.css(selector)]
        if chosen:
            return chosen
    inner = {node.mem_id for node in tree.css(_ARTICLE_HEADERS)}
    for node in reversed(tree.css(f"{_AROUND}, header")):
        if node.mem_id not in inner:
            node.decompose()
    main = tree.css(_MAIN)
    if not main:
        articles = tree.css("article")
        main = articles if len(articles) == 1 else []
    if main and any(node.text(strip=True) for node in main):
        return main[:1]
    return [tree.body] if tree.body is not None else []


def _text_of(node: LexborNode) -> str:
    """Text of an element, a line for each block; preformatted text keeps its lines."""
    lines = []
    pieces = _BLOCK.split(node.html or "")
    for place in range(0, len(pieces), 2):
        piece = pieces[place]
        if not piece:
            continue
        line = _TAG.sub("", piece) if "<" in piece else piece
        if "&" in line:
            line = html.unescape(line)
        if place and pieces[place - 1].startswith("<pre"):
            line = "\n".join(part for row in line.splitlines() if (part := row.rstrip()))
        # Most lines are clean already; to look is quicker than to take apart and join.
        elif line.isprintable() and "  " not in line:
            line = line.strip()
        else:
            line = " ".join(line.split())
        if line:
            lines.append(line)
    return "\n".join(lines)


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

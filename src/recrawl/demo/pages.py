"""What the pages say: text of any length, that differs from page to page and from version to version."""

from __future__ import annotations

from functools import lru_cache
from random import Random

__all__ = ["links_of", "page_html", "page_number", "page_path", "word_of"]

_VARIANTS = 64  # of filling text, shared by all pages: a million pages need no memory of their own
_SYLLABLES = tuple("bakelimonurasetivozudafegihojulameniporusatevi"[i : i + 2] for i in range(0, 46, 2))


def page_path(number: int, directory: int = 50) -> str:
    """Where a site keeps a page, so many in each directory; page 0 is its front page.

    >>> page_path(0), page_path(123)
    ('/', '/2/123.html')
    """
    return f"/{number // directory}/{number}.html" if number else "/"


def page_number(path: str, directory: int = 50) -> int | None:
    """The page at a path, or None."""
    if path == "/":
        return 0
    name = path.rpartition("/")[2]
    digits = name.removesuffix(".html")
    if not (name.endswith(".html") and digits.isdecimal() and digits.isascii() and len(digits) < 10):
        return None
    number = int(digits)
    return number if page_path(number, directory) == path else None


def word_of(number: int) -> str:
    """A word for each number, so that a search can find one page.

    >>> word_of(7), word_of(1234)
    ('vitilavo', 'zuraseligike')
    """
    value, word = number * 7919 + 50_021, ""
    while value:
        value, rest = divmod(value, len(_SYLLABLES))
        word += _SYLLABLES[rest]
    return word


@lru_cache(maxsize=16 * _VARIANTS)
def _filling(variant: int, size: int) -> bytes:
    random = Random(variant)
    pieces: list[str] = []
    length = 0
    while length < size:
        words = [
            "".join(random.choices(_SYLLABLES, k=random.randint(1, 4))) for _ in range(random.randint(20, 90))
        ]
        words[random.randrange(len(words))] = f"<em>{words[0]}</em>"
        paragraph = f"<p>{' '.join(words)}.</p>\n"
        if not pieces or random.random() < 0.2:
            paragraph = f"<h2>{words[1]} {words[2]}</h2>\n" + paragraph
        pieces.append(paragraph)
        length += len(paragraph)
    return "".join(pieces).encode()


def links_of(number: int, pages: int, count: int) -> list[int]:
    """Links of a page: its children in a tree (so that every page is found), its parent, and some at random."""
    width = max(2, count // 2)
    children = range(number * width + 1, min(number * width + width + 1, pages))
    random = Random(number)
    others = (random.randrange(pages) for _ in range(max(0, count - len(children) - 1)))
    return list(dict.fromkeys([*children, (number - 1) // width if number else 0, *others]))


@lru_cache(maxsize=4096)
def _link_items(number: int, pages: int, links: int, directory: int) -> str:
    numbers = links_of(number, pages, links)
    return "".join(f'<li><a href="{page_path(n, directory)}">{word_of(n)}</a></li>' for n in numbers)


def page_html(
    *,
    site: int,
    number: int,
    version: int,
    pages: int,
    links: int,
    size: int,
    now: float | None,
    extra: str = "",
    directory: int = 50,
) -> bytes:
    """A page, of about `size` bytes. `now`: what changes at every access, outside the main content."""
    title = f"{word_of(number)} {number}, site {site}"
    items = _link_items(number, pages, links, directory)
    advertisement = f'<aside class="ad">offer {hash((number, now)) % 1000}</aside>' if now is not None else ""
    clock = f"<p>served at {now:.3f}</p>" if now is not None else ""
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f'<header><a href="/">Site {site}</a></header><nav><ul><li><a href="/">front</a></li></ul></nav>'
        f"{advertisement}<main><h1>{title}</h1><p>Revision <span>{version}</span> of {word_of(number)}: "
        f"{word_of(version + 1_000_000)}.</p>\n<ul>{items}</ul>{extra}\n"
    ).encode()
    tail = f"</main><footer>{clock}<p>a demonstration page</p></footer></body></html>".encode()
    room = max(0, size - len(head) - len(tail))
    filling = _filling((site * 31 + number) % _VARIANTS, size)
    return b"".join((head, filling[: filling.rfind(b"\n", 0, room) + 1], tail))

"""Refuses pages made to exhaust an HTML parser.

Parsing by the standard looks at all open elements at many tags, and repeats all unclosed formatting elements in each
new paragraph: a page of a few hundred kilobytes can take minutes, or gigabytes. Browsers cap the depth at 512. The
count here is rough (it does not know comments from tags); ordinary pages are far below every bound.
"""

from __future__ import annotations

import re

import numpy as np

__all__ = ["too_complex"]

_FEW = 1_400  # tags: whatever they are, they cost little (1,400 times 1,400 is within the bound below)
_MAX_TAGS = 400_000  # start and end tags together
_MAX_DEPTH = 512
_MAX_REPEATED = 2_000_000  # unclosed formatting elements times tags
_MAX_FOREIGN = 20_000  # tags that close themselves inside SVG, and only there

_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>\0]*)(?:[^<>]*(/)(?=>))?")
# Elements without end tag, or whose end the next one implies.
_UNCOUNTED = frozenset(
    b"area base br col embed hr img input link meta param source track wbr a p li dt dd td th tr tbody thead tfoot "
    b"option optgroup rt rp colgroup html head body keygen frame command".split()
)
_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
_FOREIGN = frozenset(
    b"path circle rect line polygon polyline ellipse use stop image g animate animatetransform text tspan symbol mask "
    b"defs pattern filter lineargradient radialgradient clippath fegaussianblur feoffset feblend mspace".split()
)


def too_complex(page: bytes) -> str | None:
    """Why a page must not be parsed, or None.

    >>> too_complex(b"<div>" * 5000)
    'elements nested more than 512 deep'
    """
    if (
        np.count_nonzero(np.frombuffer(page, np.uint8) == ord("<")) <= _FEW
    ):  # bytes.count takes three times as long
        return None
    depth = deepest = formatting = most_formatting = foreign = tags = 0
    for match in _TAG.finditer(page):
        tags += 1
        name = match[2].lower()
        if name in _UNCOUNTED:
            continue
        if match[3] and name in _FOREIGN:
            foreign += 1
            continue
        step = -1 if match[1] else 1
        depth = max(0, depth + step)
        if depth > deepest:
            deepest = depth
            if deepest > _MAX_DEPTH:
                return f"elements nested more than {_MAX_DEPTH} deep"
        if name in _FORMATTING:
            formatting = max(0, formatting + step)
            most_formatting = max(most_formatting, formatting)
    if tags > _MAX_TAGS:
        return f"more than {_MAX_TAGS} tags"
    if foreign > _MAX_FOREIGN or most_formatting * tags > _MAX_REPEATED:
        return "more markup than text can need"
    return None

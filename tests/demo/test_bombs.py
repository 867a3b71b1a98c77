import gzip
from importlib import import_module

import pytest

from recrawl.demo.bombs import bomb


@pytest.mark.parametrize(("encoding", "most"), [("gzip", 500_000), ("br", 50_000)])
def test_bombs_are_small_and_whole(encoding, most):
    body = bomb(encoding)
    assert len(body) < most
    text = gzip.decompress(body) if encoding == "gzip" else import_module("brotli").decompress(body)
    assert len(text) == 200_000_000
    assert text.startswith(b"<p>boom <p>boom ")

"""Texts as the store keeps them."""

import pytest

from recrawl.backends.sqlite import _packing
from recrawl.backends.sqlite._packing import pack, unpack
from recrawl.errors import StoreError

LONG = "seite für seite " * 50


@pytest.fixture
def without_zstd(monkeypatch):
    monkeypatch.setattr(_packing, "_zstd", lambda: None)


def test_round_trip():
    way, body = pack(LONG)
    assert (way, unpack(way, body)) == (2, LONG)
    assert len(body) < len(LONG) / 5
    assert pack("kurz") == (0, b"kurz")


def test_without_zstd_zlib_does(without_zstd):
    way, body = pack(LONG)
    assert (way, unpack(way, body)) == (1, LONG)


def test_what_zstd_has_packed_is_not_guessed(monkeypatch):
    way, body = pack(LONG)
    monkeypatch.setattr(_packing, "_zstd", lambda: None)
    with pytest.raises(StoreError, match="zstd"):
        unpack(way, body)

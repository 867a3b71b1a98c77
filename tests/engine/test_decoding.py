import gzip
import zlib
from contextlib import suppress
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.engine.decoding import ACCEPT_ENCODING, BadEncoding, Decoder, TooLong


def encode(name, data):
    if name == "br":
        return import_module("brotli").compress(data)
    if name == "zstd":
        return pytest.importorskip("backports.zstd").compress(data)
    if name in ("gzip", "x-gzip"):
        return gzip.compress(data)
    engine = zlib.compressobj(wbits=-15 if name == "bare" else 15)
    return engine.compress(data) + engine.flush()


NAMES = ["gzip", "x-gzip", "deflate", "br", "zstd"]


def decode(name, pieces, most=10_000_000):
    decoder = Decoder(name, most)
    for piece in pieces:
        decoder.feed(piece)
    decoder.finish()
    return decoder.body()


@pytest.mark.parametrize("name", NAMES)
@given(data=st.binary(max_size=3000), repeat=st.integers(1, 300), step=st.integers(1, 5000))
def test_round_trip_in_pieces(name, data, repeat, step):
    whole = encode(name, data * repeat)
    assert decode(name, [whole[at : at + step] for at in range(0, len(whole), step)]) == data * repeat


@pytest.mark.parametrize("name", NAMES)
def test_a_bomb_stops_at_the_cap(name):
    body = encode(name, bytes(30_000_000))
    decoder = Decoder(name, 1_000_000)
    with pytest.raises(TooLong, match="1000000"):
        decoder.feed(body)
    assert len(decoder.body()) == 1_000_000
    assert decoder._length < 1_000_000 + 600_000  # little more than the cap was ever made


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", [0.2, 0.6, 0.95])
def test_a_cut_stream_is_noticed(name, part):
    body = encode(name, bytes(range(256)) * 500)
    with pytest.raises(BadEncoding):
        decode(name, [body[: int(part * len(body))]])


@pytest.mark.parametrize("name", NAMES)
@given(data=st.binary(min_size=1, max_size=300))
def test_noise_never_raises_anything_else(name, data):
    with suppress(BadEncoding, TooLong):
        decode(name, [data])


def test_bare_deflate_and_members():
    assert decode("deflate", [encode("bare", b"text")]) == b"text"
    assert decode("gzip", [gzip.compress(b"a") + gzip.compress(b"b")]) == b"ab"
    with pytest.raises(BadEncoding):
        decode("gzip", [gzip.compress(b"") * 1000])


@pytest.mark.parametrize("name", ["gzip, gzip", "compress", "x" * 500])
def test_unknown_encodings(name):
    with pytest.raises(BadEncoding):
        Decoder(name, 10)


def test_plain_and_empty():
    assert decode("", [b"a", b"b"]) == b"ab"
    assert decode("gzip", []) == b""  # what some servers send for nothing
    with pytest.raises(TooLong):
        decode("identity", [b"abc"], most=2)


def test_everything_installed_is_offered():
    assert ACCEPT_ENCODING == "gzip, deflate, br, zstd"

"""Refuses private addresses, at the socket.

A name is checked where it becomes an address: when the socket is made. So it does not matter whether the address came
from a literal in any spelling, a redirect, or a name server that changes its mind between question and connection.

Who may be reached:

- every public address;
- a host that the user named (a seed, or ``allow_hosts``), on the port named. A name that was once seen with a public
  address stays public: it is not allowed to turn private later;
- link-local addresses, among them the metadata services of clouds, only when named as the address itself.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from recrawl.engine.urls import canonical_url, host_and_port
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["AddressRefused", "Guard", "Kind", "kind_of"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# IANA special-purpose registries; what is not listed is public.
_LINK_LOCAL = [
    ipaddress.ip_network(text)
    for text in (
        "169.254.0.0/16",
        "fe80::/10",
        "100.100.100.200/32",  # metadata services outside 169.254
        "192.0.0.192/32",
        "fd00:ec2::254/128",
        "fd20:ce::254/128",
        "168.63.129.16/32",
    )
]
_PRIVATE = [
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/16",  # unspecified, loopback, and addresses that carry others in forms long abandoned
        "100::/64",
        "2001::/23",  # protocol assignments, Teredo
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fec0::/10",
        "ff00::/8",
    )
]
_TRANSLATED = [ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48")]


class Kind(StrEnum):
    """What sort of address it is."""

    PUBLIC = "public"
    PRIVATE = "private"
    LINK_LOCAL = "link-local"


class AddressRefused(OSError):
    """A connection that must not be made. An OSError, because that is what a socket may raise."""


@lru_cache(maxsize=4096)
def kind_of(text: str) -> Kind:
    """Kind of an address; an address that carries another (mapped, 6to4, NAT64) is the worse of both.

    >>> [str(kind_of(a)) for a in ("93.184.215.14", "::ffff:10.0.0.1", "2002:a9fe:a9fe::", "64:ff9b::7f00:1")]
    ['public', 'private', 'link-local', 'private']
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    return _kind(address)


def _kind(address: Address) -> Kind:
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and any(address in network for network in _TRANSLATED):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _kind(inner)
    if any(address in network for network in _LINK_LOCAL if network.version == address.version):
        return Kind.LINK_LOCAL
    if any(address in network for network in _PRIVATE if network.version == address.version):
        return Kind.PRIVATE
    return Kind.PUBLIC


@lru_cache(maxsize=4096)
def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


# The host and port that the running task is about to connect to, and whether a proxy does it. A socket made for nobody
# may be public only.
_destination: ContextVar[tuple[str, int, bool]] = ContextVar("destination", default=("", 0, False))


@dataclass
class Guard:
    """Decides which addresses may be connected to.

    >>> guard = Guard.of(seeds=["http://127.0.0.1:8000/"])
    >>> guard.permits("127.0.0.1", 8000, "127.0.0.1"), guard.permits("127.0.0.1", 22, "127.0.0.1")
    (True, False)
    """

    named: set[tuple[str, int | None]] = field(default_factory=set)
    refusals: int = 0
    _seen_public: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, seeds: Iterable[str] = (), allow_hosts: Iterable[str] = ()) -> Guard:
        """A guard that trusts the seeds' hosts on their ports, and others (``host``, ``host:port``) as named."""
        guard = cls()
        for seed in seeds:
            guard.trust_seed(seed)
        for name in allow_hosts:
            guard.trust_host(name)
        return guard

    def trust_seed(self, url: str) -> None:
        """Trust a seed's host on its port; on a standard port, on both (http leads to https)."""
        canonical = canonical_url(url)
        if canonical is None:
            raise ConfigError(f"seed {url!r}: not an http or https URL")
        host, port = host_and_port(canonical)
        self.named.update((host, p) for p in ({80, 443} if port in (80, 443) else {port}))

    def trust_host(self, name: str) -> None:
        """Trust ``host`` on every port, or ``host:port``; an IPv6 address in brackets."""
        canonical = canonical_url(f"http://{name}/")
        if canonical is None or "/" in name:
            raise ConfigError(f"allow_hosts: {name!r} is not a host or host:port")
        host, port = host_and_port(canonical)
        explicit = name.rpartition("]")[2] if name.startswith("[") else name
        self.named.add((host, port if ":" in explicit else None))

    def is_named(self, host: str, port: int) -> bool:
        """Whether the user named this host and port."""
        return (host, port) in self.named or (host, None) in self.named

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether a connection to `address`, made on behalf of `host`, is allowed."""
        kind = kind_of(address)
        if kind is Kind.PUBLIC:
            if self.is_named(host, port):
                self._seen_public.add(host)
            return True
        if not self.is_named(host, port):
            return False
        literal = _literal(host)
        if literal is not None:
            return literal == _literal(address)
        return kind is Kind.PRIVATE and host not in self._seen_public

    def permits_literal(self, host: str, port: int) -> bool:
        """The part of the check that needs no name server: for hosts behind a proxy, and to fail early."""
        if host == "localhost" or host.endswith(".localhost"):
            return self.is_named(host, port)
        return _literal(host) is None or self.permits(host, port, host)

    @contextmanager
    def connecting_to(self, host: str, port: int, *, by_proxy: bool = False) -> Iterator[None]:
        """Within it, sockets are made on behalf of this host; by the user's proxy, wherever that is."""
        token = _destination.set((host, port, by_proxy))
        try:
            yield
        finally:
            _destination.reset(token)

    def make_socket(self, info: tuple[Any, ...]) -> socket.socket:
        """Make the socket for an address, or refuse. Given to the connector as its only way to make one."""
        family, kind, protocol, _, sockaddr = info
        if family not in (socket.AF_INET, socket.AF_INET6):
            raise AddressRefused(f"address family {family} is refused")
        address = str(sockaddr[0])
        host, port, by_proxy = _destination.get()
        if not by_proxy and not self.permits(host, port, address):
            self.refusals += 1
            raise AddressRefused(f"{kind_of(address)} address {address} of {host or 'nobody'} is refused")
        return socket.socket(family=family, type=kind, proto=protocol)

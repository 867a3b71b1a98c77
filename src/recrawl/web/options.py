"""How the web is served."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recrawl.engine.options import secret
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from recrawl.settings import Settings

__all__ = ["WebOptions", "is_loopback", "options_of"]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class WebOptions:
    """What may be asked, by whom, how often."""

    host: str = "127.0.0.1"
    port: int = 8717
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    hosts: tuple[str, ...] = ()  # further names under which it may be addressed
    indexnow_key: str = field(default="", repr=False)
    max_body_bytes: int = 2_000_000
    reads_per_second: float = 500.0  # of one address
    actions_per_second: float = 20.0
    logins_per_second: float = 0.2
    max_streams: int = 100  # of events, in all

    def __post_init__(self) -> None:
        if len(self.token) < 12:
            raise ConfigError("token: must have at least 12 characters")
        if self.indexnow_key and not 8 <= len(self.indexnow_key) <= 128:
            raise ConfigError("indexnow_key: must have 8 to 128 characters")

    @property
    def guarded(self) -> bool:
        """Whether everything needs the token: others can reach the address."""
        return not is_loopback(self.host)

    @property
    def cookie(self) -> str:
        """Its name; cookies are shared by all ports of a host."""
        return f"recrawl-{self.port}"

    def derived(self, purpose: str) -> str:
        """A secret that tells nothing of the token."""
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def allowed_hosts(self) -> frozenset[str]:
        """Names under which this may be addressed, in lower case, without port."""
        names = {"127.0.0.1", "localhost", "::1", self.host.lower(), *(name.lower() for name in self.hosts)}
        if self.guarded:
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        return frozenset(names)


def options_of(settings: Settings, host: str, port: int) -> WebOptions:
    """From the settings, for the address that is listened on."""
    token = secret(settings.token) if settings.token else secrets.token_urlsafe(24)
    key = secret(settings.indexnow_key) if settings.indexnow_key else ""
    return WebOptions(host=host, port=port, hosts=settings.web_hosts, indexnow_key=key, token=token)

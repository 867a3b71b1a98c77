"""A chromium for the tests: from the PATH, or Debian's package where it may be installed, or a clear word why not."""

import os
import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--font-render-hinting=none",
]  # fmt: skip


def _installed() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


def _install() -> None:
    """Debian's package, where this process has the right to install it."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", "chromium"],
    ):
        subprocess.run(command, env=environment, capture_output=True, timeout=400, check=False)


def chromium() -> str:
    """Its path; the tests are skipped without one, or fail where RECRAWL_REQUIRE_BROWSER=1 asks for it."""
    if _installed() is None:
        _install()
    found = _installed()
    if found is None:
        told = "no chromium on the PATH, and no right to install one: the browser tests did not run"
        if os.environ.get("RECRAWL_REQUIRE_BROWSER") == "1":
            pytest.fail(told)
        pytest.skip(told)
    return found

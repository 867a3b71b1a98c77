"""Without a browser the tests say so in one line; where one is required they fail."""

import pytest
from tests.web import browsing


@pytest.fixture
def nothing(monkeypatch):
    monkeypatch.setattr(browsing.shutil, "which", lambda _name: None)
    monkeypatch.delenv("RECRAWL_REQUIRE_BROWSER", raising=False)


def test_tests_are_skipped_in_one_line(nothing):
    with pytest.raises(pytest.skip.Exception, match="no chromium on the PATH"):
        browsing.chromium()


def test_tests_fail_where_a_browser_is_required(nothing, monkeypatch):
    monkeypatch.setenv("RECRAWL_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="did not run"):
        browsing.chromium()


def test_debians_package_is_installed_where_it_may_be(nothing, monkeypatch):
    commands, found = [], {"apt-get": "/usr/bin/apt-get"}
    monkeypatch.setattr(browsing.shutil, "which", found.get)
    monkeypatch.setattr(browsing.os, "geteuid", lambda: 0)

    def install(command, **_options):
        commands.append(command)
        found["chromium"] = "/usr/bin/chromium"

    monkeypatch.setattr(browsing.subprocess, "run", install)
    assert browsing.chromium() == "/usr/bin/chromium"
    assert commands[-1][-1] == "chromium"

import subprocess

import pytest


@pytest.fixture
def site(tmp_path):
    pages = "".join(f"{i},d/{i},0,,0\n" for i in range(12))
    (tmp_path / "s.pages.csv").write_text("page_id,path,first_seen,last_seen,popularity\n" + pages)
    events = "".join(f"{i % 12},{1000 * i},M,{4 if i == 7 else 0}\n" for i in range(60))
    (tmp_path / "s.events.csv").write_text("page_id,unix_time,kind,flags\n" + events)
    return tmp_path


def test_json_rows(recrawl, site):
    rows = recrawl(
        "replay", site, "--budget", "1x", "--budget", "2x", "--policies", "uniform,clairvoyant", "--json"
    )
    assert rows.code == 0, rows.err
    assert [(row["site"], row["budget"], row["policy"]) for row in rows.json] == [
        ("s", budget, policy) for budget in ("1x", "2x") for policy in ("uniform", "clairvoyant")
    ]
    assert set(rows.json[0]) == {"site", "budget", "policy", "freshness", "accesses", "seconds"}
    assert rows.json[0]["accesses"] == 59


def test_table_and_plot(recrawl, site, tmp_path):
    pytest.importorskip("matplotlib")
    found = recrawl("replay", site / "s", "--policies", "uniform", "--plot", tmp_path / "f.png")
    assert found.code == 0, found.err
    assert "uniform" in found.out
    assert (tmp_path / "f.png").stat().st_size > 1000


def test_git_repository(recrawl, tmp_path):
    place = tmp_path / "web"
    place.mkdir()
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    for day in range(6):
        for page in range(3):
            if day % (page + 1) == 0:
                (place / f"{page}.md").write_text(f"{day}")
        when = f"{1_700_000_000 + 86400 * day} +0000"
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run(
            [*git, "commit", "-qm", "x", "--date", when],
            check=True,
            env={"GIT_COMMITTER_DATE": when, "PATH": "/usr/bin:/bin"},
        )
    found = recrawl("replay", place, "--policies", "uniform,clairvoyant", "--json")
    assert found.code == 0, found.err
    assert found.json[0]["freshness"] <= found.json[1]["freshness"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nowhere"], "nowhere"),
        (["synthetic:poisson", "--policies", "best"], "best"),
        (["synthetic:poisson", "--budget", "much"], "much"),
        (["synthetic:waves"], "waves"),
        (["synthetic:poisson", "--weights", "popularity"], "popularity"),
    ],
)
def test_bad_input(recrawl, arguments, word):
    found = recrawl("replay", *arguments)
    assert found.code == 2
    assert word in found.err or "weights" in found.err

"""A repository made here becomes the history that it is; written, it is read back."""

import os
import subprocess

import pytest

from recrawl.errors import InvalidModel
from recrawl.tables.git_history import read_git
from recrawl.tables.histories import find_histories, read_history, write_history


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    clock = [1_700_000_000]

    def git(*arguments):
        clock[0] += 100
        when = f"{clock[0]} +0000"
        environment = {
            **os.environ,
            "GIT_COMMITTER_DATE": when,
            "GIT_AUTHOR_DATE": when,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run(
            ["git", *names, *arguments], cwd=folder, env=environment, check=True, capture_output=True
        )
        return clock[0]

    def commit(**files):
        for name, text in files.items():
            path = folder / "content" / f"{name}.md"
            path.parent.mkdir(exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        git("add", "-A")
        return git("commit", "-m", "edit")

    git("init", "-q")
    return folder, commit, git


def test_changes_appearances_and_disappearances(repository):
    folder, commit, git = repository
    (folder / "README").write_text("not a page")
    born = commit(a="one", b="one")
    changed = commit(a="two")
    reverted = commit(a="one")
    gone = commit(b=None)
    back = commit(b="new", c="ü")
    found = read_git(folder, "content/**")
    assert [page.path for page in found.pages] == ["content/a.md", "content/b.md", "content/c.md"]
    assert found.events == [
        (0, born, "A", 0),
        (1, born, "A", 0),
        (0, changed, "M", 0),
        (0, reverted, "M", 2),
        (1, gone, "D", 0),
        (1, back, "A", 0),
        (2, back, "A", 0),
    ]
    assert [page.changes for page in found.pages] == [2, 0, 0]
    assert found.pages[1].last_seen is None
    del git


def test_a_merge_counts_when_it_arrives(repository):
    folder, commit, git = repository
    commit(a="one")
    git("checkout", "-q", "-b", "draft")
    commit(a="two")
    commit(a="three")
    git("checkout", "-q", "main")
    commit(z="other")
    merged = git("merge", "-q", "--no-ff", "draft", "-m", "merge")
    changes = [event for event in read_git(folder, "content/**").events if event[2] == "M"]
    assert changes == [(0, merged, "M", 0)]


def test_mass_edits_are_marked(repository):
    folder, commit, _git = repository
    commit(**{f"p{k}": "one" for k in range(25)})
    commit(**{f"p{k}": "two" for k in range(5)})
    commit(**{f"p{k}": "three" for k in range(6)})
    flags = [event[3] for event in read_git(folder, "content/**").events if event[2] == "M"]
    assert flags == [0] * 5 + [1] * 6


def test_written_and_read_back(repository, tmp_path):
    folder, commit, _git = repository
    commit(a="one", b="one")
    commit(a="two")
    commit(a="three", b="two")
    found = read_git(folder, "content/**")
    for packed in (True, False):
        stem = tmp_path / "out" / f"site{packed}"
        write_history(stem, found.pages, found.events, packed=packed)
        (files,) = find_histories(stem).values()
        history = read_history(*files)
        assert history.pages == 2
        assert history.changes.size == 3
    assert len(find_histories(tmp_path / "out")) == 2


def test_nothing_there(repository, tmp_path):
    folder, commit, _git = repository
    commit(a="one")
    with pytest.raises(InvalidModel, match="ever matched 'pages"):
        read_git(folder, "pages/**")
    with pytest.raises(InvalidModel, match="git could not read"):
        read_git(tmp_path / "nowhere", "**")
    with pytest.raises(InvalidModel, match="git could not read"):
        read_git(folder, "**", revision="no-such-branch")
    with pytest.raises(InvalidModel, match="no NAME"):
        find_histories(tmp_path)

import gzip

import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.tables import read_pages, write_table


def write(tmp_path, text, name="pages.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv(tmp_path):
    path = write(
        tmp_path, 'weight,site,page,other,change_rate\n2,b,/x,1,0.5\n1,a,/y,2,0\n\n3,b,"/z,1",3,1e-3\n'
    )
    table = read_pages(path)
    assert table.names == ["/x", "/y", "/z,1"]
    assert table.pages.change_rate.tolist() == [0.5, 0.0, 1e-3]
    assert table.pages.weight.tolist() == [2.0, 1.0, 3.0]
    assert [table.sites[code] for code in table.pages.site] == ["b", "a", "b"]


def test_defaults_byte_order_mark_and_gzip(tmp_path):
    path = tmp_path / "pages.csv.gz"
    path.write_bytes(gzip.compress("\ufeffpage,change_rate\r\na,1\r\nb,2\r\n".encode()))
    table = read_pages(path)
    assert table.names == ["a", "b"]
    assert table.pages.weight.tolist() == [1.0, 1.0]
    assert table.pages.site is None


def test_standard_input(monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("page,change_rate\na,1\n"))
    assert read_pages("-").names == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'page'; the first line must name columns, and has nothing"),
        ("page,rate\na,1\n", "no column 'change_rate'"),
        ("page,change_rate\n", "the table has no rows"),
        ("page,change_rate\na,1\nb\n", "row 2 has 1 fields, the header has 2"),
        (
            "page,change_rate\na,1\nb,x\n",
            r"row 2 \(page 'b'\): change_rate must be a number not below zero, not 'x'",
        ),
        ("page,change_rate\na,-1\n", "not '-1'"),
        ("page,change_rate\na,nan\n", "not 'nan'"),
        ("page,change_rate\na,inf\n", "not 'inf'"),
        ("page,change_rate\na,\n", "not ''"),
        (
            "page,change_rate,weight\na,1,0\n",
            r"row 1 \(page 'a'\): weight must be a positive number, not '0'",
        ),
        ("page,change_rate\na,1\nb,1\na,2\n", "row 3: page 'a' is already in row 1"),
        ("page,change_rate\n,1\n", "row 1: page is empty"),
        ("page,page,change_rate\na,b,1\n", "column 'page' appears 2 times"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    with pytest.raises(InvalidModel, match=message):
        read_pages(write(tmp_path, text))


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_pages(tmp_path / "none.csv")
    binary = tmp_path / "pages.csv"
    binary.write_bytes(b"page,change_rate\n\xff\xfe\x00,1\n")
    with pytest.raises(InvalidModel, match="not a UTF-8 text file"):
        read_pages(binary)
    broken = tmp_path / "pages.csv.gz"
    broken.write_bytes(gzip.compress(b"page,change_rate\na,1\n")[:-9])
    with pytest.raises(InvalidModel, match="not a complete gzip file"):
        read_pages(broken)
    fake = write(tmp_path, "no parquet", "pages.parquet")
    with pytest.raises(InvalidModel, match="not a Parquet file"):
        read_pages(fake)


@pytest.mark.parametrize("name", ["plan.csv", "plan.csv.gz", "plan.parquet"])
def test_what_is_written_can_be_read(tmp_path, name):
    columns = {
        "page": ["a", "b"],
        "change_rate": np.array([0.1, 1 / 3]),
        "weight": np.array([1.0, 2.0]),
        "site": ["s", "t"],
    }
    path = tmp_path / name
    write_table(path, columns)
    table = read_pages(path)
    assert table.names == ["a", "b"]
    assert table.pages.change_rate.tolist() == [0.1, 1 / 3]
    assert table.sites == ["s", "t"]


def test_unknown_format(tmp_path):
    with pytest.raises(InvalidModel, match=r"must end in \.csv"):
        write_table(tmp_path / "plan.xlsx", {"page": ["a"]})


def test_parquet_without_its_extra(tmp_path, monkeypatch):
    import sys

    from recrawl.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'recrawl\[parquet\]'"):
        write_table(tmp_path / "plan.parquet", {"page": ["a"]})

"""Test the tables of a fleet: rows are read back unchanged, even after the writer was killed."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from kcheck.addons.fleet import storage
from kcheck.addons.fleet.database import ResultsError, opened
from kcheck.addons.fleet.outcomes import Kept
from kcheck.addons.fleet.storage import columns, locked
from kcheck.addons.fleet.tables import TABLES, Rows, SharedRow
from kcheck.commands.cli import cli
from kcheck.report.page import SOURCE
from tests.addons.fleet import story
from tests.addons.fleet.story import FIRST, SECOND, THIRD
from tests.places import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the fleet that story.tell writes."""
    story.tell(tmp_path / "out")
    return tmp_path / "out"


def asked(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with opened(str(folder)) as tables:
        return tables.execute(sql).fetchall()


def asked_of_duckdb(sql: str) -> list[tuple[object, ...]]:
    return duckdb.execute(sql).fetchall()


def counts(folder: Path) -> dict[str, int]:
    """Return the number of rows of each run, in all tables except `runs`."""
    every = " UNION ALL ".join(f"SELECT run FROM {name}" for name in TABLES if name != "runs")
    rows = asked(folder, f"SELECT run, count(*) FROM ({every}) GROUP BY run ORDER BY run")
    return {str(run): int(str(count)) for run, count in rows}


def files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if "outcomes" not in path.parts and path.is_file()
    }


WHOLE = {FIRST: 18, SECOND: 15, THIRD: 26}


def test_each_run_is_one_parquet_file_per_table_and_the_database_has_all(folder: Path) -> None:
    assert counts(folder) == WHOLE
    runs = (FIRST, SECOND, THIRD)
    assert files(folder) == {"fleet.duckdb", *(f"parquet/{table}/{run}.parquet" for table in TABLES for run in runs)}
    for table in TABLES:
        described = asked_of_duckdb(f"DESCRIBE FROM '{folder}/parquet/{table}/{THIRD}.parquet'")
        wanted = [(one.name, one.type) for one in columns(table)]
        assert [(name, kind) for name, kind, *_ in described] == wanted
        assert (
            asked(folder, f"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '{table}'") == wanted
        )


def test_rows_are_read_back_unchanged(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path))
    cluster = story.cluster("a", 10, 20, waste_least=1.5, errors=3)
    shared = story.filled(SharedRow, clusters=("a:b", "c:d"), available=None, is_exact=True)
    one = story.ended(
        kept,
        "a/b",
        owner="team",
        folder="/x",
        rows=Rows([cluster], suppressed=4),
        attempts=2,
        revision="f" * 40,
        seconds=1.25,
    )
    storage.write(str(tmp_path), story.run_row(FIRST, [one]), [one], kept, [shared])
    with opened(str(tmp_path)) as tables:
        for table, row, before in (("clusters", cluster, (FIRST, "a/b")), ("shared_limits", shared, (FIRST,))):
            found = tables.execute(f"FROM {table}").fetchone()
            expected = [list(value) if isinstance(value, tuple) else value for value in msgspec.structs.astuple(row)]
            assert found == (*before, *expected)
        assert tables.execute("SELECT run, started, repositories, seconds FROM runs").fetchall() == [
            (FIRST, datetime.datetime(2026, 11, 9, 6), 1, 95.5)
        ]
        wanted = ("team", "/x", "checked", "", False, "f" * 40, 1.25, 1, 4)
        names = "owner, path, status, reason, is_unchanged, revision, seconds, attempts, suppressed"
        assert tables.execute(f"SELECT {names} FROM repositories").fetchall() == [wanted]


def test_an_unchanged_repository_has_the_rows_of_its_last_check(folder: Path) -> None:
    [(first, second)] = asked(
        folder,
        f"SELECT list(message) FILTER (run = '{FIRST}'), list(message) FILTER (run = '{SECOND}') FROM findings WHERE repository = 'shop'",
    )
    assert first == second == [story.DISK.message, story.TIER.message]
    assert asked(
        folder,
        f"SELECT is_unchanged, errors, files FROM repositories WHERE run = '{SECOND}' AND repository = 'serving-old'",
    ) == [(True, 1, 31)]


def test_a_failed_repository_has_no_rows_even_if_it_had_some_before(folder: Path) -> None:
    assert asked(folder, f"SELECT * FROM findings WHERE run = '{SECOND}' AND repository = 'trainer'") == []
    assert asked(
        folder, f"SELECT status, reason FROM repositories WHERE run = '{SECOND}' AND repository = 'trainer'"
    ) == [("failed", "its time was over")]


def test_a_lost_outcome_counts_as_a_failure(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path))
    one = story.ended(kept, "a", rows=Rows(findings=[story.OLD]))
    shutil.rmtree(tmp_path / "outcomes")
    storage.write(str(tmp_path), story.run_row(FIRST), [one], kept)
    assert asked(tmp_path, "SELECT status, reason, errors FROM repositories") == [
        ("failed", "what was found can no longer be read", 0)
    ]


# --- text and numbers of strangers

HOSTILE = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\n\r\"'\\{}[],;$%\u2028\U0001f600"), max_size=40
)


@settings(max_examples=10)  # each writes files
@given(texts=st.lists(HOSTILE, min_size=1, max_size=5), name=HOSTILE)
def test_text_is_read_back_unharmed(texts: list[str], name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("out")
    kept = Kept(str(folder))
    rows = Rows(findings=[story.finding("a", "info", message=text, clusters=texts) for text in texts])
    one = story.ended(kept, name, owner=texts[0], rows=rows)
    storage.write(str(folder), story.run_row(FIRST), [one], kept)
    assert asked(folder, "SELECT repository, message, clusters FROM findings") == [
        (name, text, texts) for text in texts
    ]
    assert asked(folder, "SELECT repository, owner FROM repositories") == [(name, texts[0])]


def test_very_long_text_is_read_back(tmp_path: Path) -> None:
    kept, text = Kept(str(tmp_path)), "\u00e9\0" * (13 << 20)
    one = story.ended(kept, "a", rows=Rows(findings=[story.finding("a", "info", message=text)]))
    storage.write(str(tmp_path), story.run_row(FIRST), [one], kept)
    assert asked(tmp_path, "SELECT message FROM findings") == [(text,)]


def test_a_name_that_is_not_unicode_is_escaped_in_all_tables(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path))
    one = story.ended(kept, "a\udcff", folder="/a\udcff", rows=Rows([story.cluster("a")]))
    storage.write(str(tmp_path), story.run_row(FIRST), [one], kept)
    sql = "SELECT r.repository, r.path, c.name FROM repositories AS r JOIN clusters AS c USING (run, repository)"
    assert asked(tmp_path, sql) == [("a\\udcff", "/a\\udcff", "a")]


@pytest.mark.parametrize(
    ("number", "found"), [(2**63 - 1, 2**63 - 1), (2**63, None), (2**64 - 1, None), (-(2**63), -(2**63))]
)
def test_a_number_that_is_too_large_becomes_null_and_the_row_stays(
    tmp_path: Path, number: int, found: int | None
) -> None:
    kept = Kept(str(tmp_path))
    one = story.ended(kept, "a", rows=Rows([story.cluster("a", 7, number), story.cluster("b", 7, 8)]))
    storage.write(str(tmp_path), story.run_row(FIRST), [one], kept)
    assert asked(tmp_path, "SELECT name, target FROM clusters ORDER BY name") == [("a", found), ("b", 8)]


@pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")
@pytest.mark.parametrize("name", ["a[b]", "*", "{a,b}", 'it\'s "here"', "%20 \u00e9", ":memory:", "s3:"])
def test_results_can_be_written_to_a_folder_of_any_name(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir(name)
    for run in (FIRST, SECOND):
        story.write(Path(name), run, [story.ended(Kept(name), "a", rows=Rows([story.cluster("a")]))])
    assert asked(Path(name), "SELECT run, name FROM clusters ORDER BY run") == [(FIRST, "a"), (SECOND, "a")]
    assert sorted(os.listdir()) == [name]


@pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")
@pytest.mark.parametrize("name", ["what?", "back\\slash", "a\nb", "\udcff"])
def test_a_folder_that_duckdb_cannot_open_is_refused_at_once(tmp_path: Path, name: str) -> None:
    for command in (["fleet", str(tmp_path)], ["fleet", "query", "reach"]):
        result = CliRunner().invoke(cli, [*command, "-o", str(tmp_path / name)])
        assert result.exit_code == 2
        assert "DuckDB takes no path with a question mark, a backslash or a control character" in result.output
    assert os.listdir(tmp_path) == []


# --- kills, locks and files of others

WRITER = """
import os, sys
from pathlib import Path
from tests.addons.fleet import story
seen = 0
def count(event, arguments):
    global seen
    if event in ("os.rename", "os.remove", "shutil.rmtree") and "outcomes" not in str(arguments[0]):
        seen += 1
        if seen == int(sys.argv[2]):
            os._exit(9)
sys.addaudithook(count)
story.write(Path(sys.argv[1]), story.THIRD, [story.ended(story.Kept(sys.argv[1]), "a", rows=story.SERVING)])
"""
MOVES = len(TABLES)


@pytest.mark.parametrize("moment", [1, MOVES, MOVES + 1, 2 * MOVES, 2 * MOVES + 1, 2 * MOVES + 2])
def test_a_killed_writer_leaves_old_results_and_the_next_run_repairs_them(tmp_path: Path, moment: int) -> None:
    """The order is: write Parquet, remove the lines, move Parquet into place, then the database."""
    for run in (FIRST, SECOND):
        story.write(tmp_path, run, [story.ended(Kept(str(tmp_path)), "a", rows=story.SERVING)])
    each = counts(tmp_path)[FIRST]
    code = [sys.executable, "-c", WRITER, str(tmp_path), str(moment)]
    assert subprocess.run(code, check=False, cwd=ROOT).returncode == 9
    assert counts(tmp_path) in ({FIRST: each, SECOND: each}, {FIRST: each, SECOND: each, THIRD: each})
    ended = storage.runs(str(tmp_path))
    assert ended in ([FIRST, SECOND], [FIRST, SECOND, THIRD])
    after = "20261130T060000Z"
    story.write(tmp_path, after, [story.ended(Kept(str(tmp_path)), "a", rows=story.SERVING)])
    assert counts(tmp_path) == dict.fromkeys([*ended, after], each)
    wanted = {f"parquet/{table}/{run}.parquet" for table in TABLES for run in [*ended, after]}
    assert files(tmp_path) == {"fleet.duckdb", *wanted}


def test_two_runs_of_one_second_have_ids_in_order(tmp_path: Path) -> None:
    now = datetime.datetime(2026, 11, 9, 6, 0, 0, tzinfo=datetime.UTC)
    assert storage.run_id(str(tmp_path), now) == FIRST
    for wanted in (FIRST, "20261109T060001Z", "20261109T060002Z"):
        assert storage.run_id(str(tmp_path), now) == wanted
        story.write(tmp_path, wanted, [])
    assert (
        storage.run_id(str(tmp_path), now - datetime.timedelta(days=900)) == "20261109T060003Z"
    )  # a clock that was set back


HOLDER = "import sys; from kcheck.addons.fleet.storage import locked\nwith locked(sys.argv[1]): print(flush=True); sys.stdin.read()"


def test_a_second_run_is_refused_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    out = tmp_path / "out"
    out.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(ResultsError, match="another"), locked(str(out)):
            pass
        refused = CliRunner().invoke(cli, ["fleet", str(tmp_path / "code"), "-o", str(out)])
        assert (refused.exit_code, refused.output) == (
            2, f"Error: {out}: another `kcheck fleet` writes its results there; wait for its end\n"
        )  # fmt: skip
        assert not (out / "parquet").exists()
        holder.kill()
    with locked(str(out)):
        pass


def test_only_the_newest_runs_are_kept(tmp_path: Path) -> None:
    for run in (FIRST, SECOND, THIRD):
        ended = [story.ended(Kept(str(tmp_path)), "a", rows=story.SERVING)]
        storage.write(str(tmp_path), story.run_row(run), ended, Kept(str(tmp_path)), keep=2)
    assert list(counts(tmp_path)) == [SECOND, THIRD]
    assert files(tmp_path) == {
        "fleet.duckdb", *(f"parquet/{table}/{run}.parquet" for table in TABLES for run in (SECOND, THIRD))
    }  # fmt: skip


def test_files_of_other_versions_are_read(tmp_path: Path) -> None:
    """Files of an older version lack a column; files of a newer version have an unknown one."""
    story.write(tmp_path, FIRST, [story.ended(Kept(str(tmp_path)), "a", rows=story.SERVING)])
    file = tmp_path / "parquet" / "clusters" / f"{FIRST}.parquet"
    duckdb.execute(f"COPY (SELECT * EXCLUDE (account), 1 AS later FROM '{file}') TO '{tmp_path}/new.parquet'")
    os.replace(tmp_path / "new.parquet", file)
    (tmp_path / "fleet.duckdb").unlink()
    story.write(tmp_path, SECOND, [story.ended(Kept(str(tmp_path)), "a", rows=story.SERVING)])
    assert asked(tmp_path, "SELECT name, account, target FROM clusters ORDER BY run") == [
        ("serve", None, 300),
        ("serve", "", 300),
    ]
    [found] = asked(tmp_path, "SELECT list(column_name) FROM duckdb_columns() WHERE table_name = 'clusters'")
    assert found == ([one.name for one in columns("clusters")],)


def test_an_unreadable_database_is_reported_and_rebuilt(folder: Path) -> None:
    (folder / "fleet.duckdb").write_bytes(b"DUCK" * 5000)
    with (
        pytest.raises(ResultsError, match=r"fleet\.duckdb cannot be read; the next `kcheck fleet` rebuilds it: "),
        opened(str(folder)),
    ):
        pass
    (folder / "fleet.duckdb").unlink()
    with pytest.raises(ResultsError, match=r"has no fleet\.duckdb; `kcheck fleet` creates it"), opened(str(folder)):
        pass
    after = "20261130T060000Z"
    story.write(folder, after, [])
    assert counts(folder) == WHOLE
    assert asked(folder, "SELECT count(*) FROM runs") == [(4,)]


def test_a_parquet_file_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "parquet" / "limits" / f"{FIRST}.parquet").write_bytes(b"PAR1")
    (folder / "fleet.duckdb").unlink()
    with pytest.raises(ResultsError, match=f"the tables cannot be written: .*parquet/limits/{FIRST}.parquet"):
        story.write(folder, "20261130T060000Z", [])
    assert storage.runs(str(folder)) == [FIRST, SECOND, THIRD, "20261130T060000Z"]


def test_a_run_whose_files_were_deleted_is_gone_from_the_database(folder: Path) -> None:
    for table in ("runs", "clusters"):
        (folder / "parquet" / table / f"{SECOND}.parquet").unlink()
    story.write(folder, "20261130T060000Z", [])
    assert counts(folder) == {FIRST: WHOLE[FIRST], THIRD: WHOLE[THIRD]}
    assert not any(SECOND in name for name in files(folder))


def test_a_database_with_other_columns_is_rebuilt(folder: Path) -> None:
    with duckdb.connect(str(folder / "fleet.duckdb")) as old:
        old.execute("ALTER TABLE clusters DROP COLUMN account; DELETE FROM findings")
    story.write(folder, "20261130T060000Z", [])
    assert counts(folder) == WHOLE
    assert asked(folder, f"SELECT DISTINCT account FROM clusters WHERE run = '{FIRST}' ORDER BY 1") == [
        ("",),
        ("111122223333",),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('/etc/passwd')", "COPY runs TO '/tmp/kcheck-fleet-test.csv'", "INSTALL httpfs", "LOAD spatial",
        "FROM 'https://127.0.0.1:1/a.parquet'", "SET enable_external_access = true", "ATTACH '/tmp/kcheck-fleet-test.duckdb'",
        "DELETE FROM runs", "CREATE TABLE a AS SELECT 1",
    ],
)  # fmt: skip
def test_no_query_reaches_a_file_or_a_network_or_changes_anything(folder: Path, sql: str) -> None:
    with opened(str(folder)) as tables, pytest.raises(duckdb.Error, match=r"disabled|locked|read-only|forbidden"):
        tables.execute(sql)


def test_the_error_without_duckdb_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for command in (["fleet", str(tmp_path)], ["fleet", "query", "reach"]):
        result = CliRunner().invoke(cli, [*command, "-o", str(tmp_path / "out")])
        assert (result.exit_code, result.output) == (
            2,
            f"Error: kcheck fleet needs DuckDB: pip install 'kcheck[fleet] @ {SOURCE}'\n",
        )
    assert not (tmp_path / "out").exists()

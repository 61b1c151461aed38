"""Documents from and to files: --import and --export-on-exit."""

import datetime
import json
import math
import os
import subprocess

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.vector import Vector

SECONDS = 60


def client_of(server, monkeypatch, project, database="(default)"):
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.address)
    return firestore.Client(
        project=project, database=database, credentials=AnonymousCredentials())


def fields(client):
    """A document with every type of a value, and its extremes."""
    return {
        "none": None, "true": True, "false": False, "zero": 0, "smallest": -2**63,
        "largest": 2**63 - 1, "one": 1.0, "fraction": 0.1, "tiny": 5e-324,
        "infinity": math.inf, "negative infinity": -math.inf, "text": "a\"\\\n\x01é😀\u2028",
        "empty": "", "bytes": bytes(range(256)), "no bytes": b"",
        "time": datetime.datetime(2026, 1, 31, 12, 0, 0, 123456, datetime.timezone.utc),
        "first": datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc),
        "point": firestore.GeoPoint(-90.0, 180.0), "reference": client.document("cities/SF"),
        "vector": Vector([1.0, -2.5]), "list": [1, {"a": [None]}, 1.0], "no elements": [],
        "map": {"a": {"b": {"c": b"\x01"}}}, "no entries": {},
        "like bytes": {"$bytes": "aGVsbG8="}, "like a point": {"latitude": 1, "longitude": 2.0},
        "$name": "x", "$fields": {},
    }


def types(value):
    if isinstance(value, dict):
        return {name: types(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [types(element) for element in value]
    return datetime.datetime if isinstance(value, datetime.datetime) else type(value)


def test_round_trip(start_server, tmp_path, monkeypatch):
    out, again = tmp_path / "out", tmp_path / "again"
    server = start_server("--memory", "--export-on-exit", str(out))
    written = {}
    for project, database in [("p", "(default)"), ("p", "second"), ("q", "(default)")]:
        client = client_of(server, monkeypatch, project, database)
        written[project, database] = fields(client) | {"owner": f"{project} {database}"}
        client.document("a/é/c/d").set(written[project, database])
        client.document("a/doubles").set({"nan": math.nan, "negative zero": -0.0})
        client.document("a/deleted").set({})
        client.document("a/deleted").delete()
    assert server.stop() == 0

    server = start_server("--data", str(tmp_path / "data"), "--import", str(out),
                          "--export-on-exit", str(again))
    for (project, database), values in written.items():
        client = client_of(server, monkeypatch, project, database)
        found = client.document("a/é/c/d").get().to_dict()
        assert found.pop("reference").path == values.pop("reference").path
        assert found == values
        # 1, 1.0 and True are equal.
        assert types(found) == types(values)
        doubles = client.document("a/doubles").get().to_dict()
        assert math.isnan(doubles["nan"])
        assert math.copysign(1, doubles["negative zero"]) == -1
        assert [found.id for found in client.collection("a").get()] == ["doubles"]
    assert server.stop() == 0
    files = sorted(path.relative_to(out) for path in out.rglob("*.ndjson"))
    assert [str(path) for path in files] == [
        "document_export/p/(default).ndjson", "document_export/p/second.ndjson",
        "document_export/q/(default).ndjson"]
    for path in files:
        assert (out / path).read_bytes() == (again / path).read_bytes()
    assert [path.name for path in again.rglob(".*")] == []


def test_both_kinds_in_one_directory(start_server, tmp_path, monkeypatch):
    directory, out = tmp_path / "in", tmp_path / "out"
    (directory / "document_export" / "p").mkdir(parents=True)
    (directory / "database_export").mkdir()
    line = '{"$name":"c/d","n":1}\n'
    (directory / "document_export" / "p" / "(default).ndjson").write_text(line)
    (directory / "database_export" / "tree.json").write_text('{"a":1}')
    server = start_server("--memory", "--import", str(directory), "--export-on-exit", str(out))
    assert client_of(server, monkeypatch, "p").document("c/d").get().to_dict() == {"n": 1}
    assert server.stop() == 0
    assert (out / "document_export" / "p" / "(default).ndjson").read_text() == line
    assert json.loads((out / "database_export" / "tree.json").read_text()) == {"a": 1}
    # A single file, by a variable of the environment.
    monkeypatch.setenv("LARDERD_IMPORT", str(out / "document_export" / "p" / "(default).ndjson"))
    server = start_server("--memory")
    monkeypatch.delenv("LARDERD_IMPORT")
    assert client_of(server, monkeypatch, "p").document("c/d").get().to_dict() == {"n": 1}


def end(*arguments):
    """Runs a server that does not start; gives its exit status and its messages."""
    ended = subprocess.run(
        [os.environ["LARDERD"], "--memory", "--port", "0", *arguments], timeout=SECONDS,
        capture_output=True, text=True)
    return ended.returncode, ended.stderr


def test_imports_that_fail(start_server, tmp_path):
    folder = tmp_path / "document_export" / "p"
    folder.mkdir(parents=True)
    file = folder / "x.ndjson"
    text = '{"$name":"c/d"}\n{"$name":"c/e",}\n'
    file.write_text(text)
    status, messages = end("--import", str(tmp_path), "--export-on-exit", str(tmp_path))
    assert status == 64 and f"{file}, line 2, column 16: " in messages
    # What was read of it does not replace it.
    assert file.read_text() == text
    file.rename(folder / "x y.ndjson")
    status, messages = end("--import", str(tmp_path))
    assert status == 64 and "rename it to p/x%20y.ndjson" in messages
    status, messages = end("--import", str(folder))
    assert status == 64 and "has no files NAMESPACE.json or document_export/PROJECT" in messages
    status, messages = end("--import", str(tmp_path / "absent"))
    assert status == 64 and "does not exist" in messages


def test_exports_of_other_programs(start_server, tmp_path):
    console = tmp_path / "demo-default-rtdb-export.json"
    console.write_text('{"a":1}')
    out = tmp_path / "out"
    server = start_server("--memory", "--import", str(console), "--export-on-exit", str(out))
    assert server.stop() == 0
    assert json.loads((out / "database_export" / "demo-default-rtdb.json").read_text()) == {"a": 1}
    named = tmp_path / "seed.txt"
    named.write_text('{"b":2}')
    server = start_server("--memory", "--import", f"n={named}", "--export-on-exit", str(out))
    assert server.stop() == 0
    assert json.loads((out / "database_export" / "n.json").read_text()) == {"b": 2}
    # Google's emulator writes documents in a format of its own.
    folder = tmp_path / "emulator"
    (folder / "firestore_export").mkdir(parents=True)
    (folder / "firebase-export-metadata.json").write_text("{}")
    status, messages = end("--import", str(folder))
    assert status == 64 and "Google's Firestore emulator" in messages
    (folder / "database_export").mkdir()
    (folder / "database_export" / "d.json").write_text("3")
    server = start_server("--memory", "--import", str(folder))
    assert "Google's Firestore emulator exported are not imported" in open(server.log).read()
    assert server.stop() == 0


def test_shutdown_during_an_import(start_server, tmp_path, monkeypatch):
    folder = tmp_path / "in" / "document_export" / "p"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "(default).ndjson")
    data, out = tmp_path / "data", tmp_path / "out"
    process = subprocess.Popen(
        [os.environ["LARDERD"], "--data", str(data), "--port", "0", "--import",
         str(tmp_path / "in"), "--export-on-exit", str(out)],
        stderr=subprocess.PIPE, text=True)
    # Open for reading as well, so that it waits for nobody.
    pipe = os.open(folder / "(default).ndjson", os.O_RDWR | os.O_NONBLOCK)
    lines, written = 0, 0
    while process.poll() is None:
        try:
            line = f'{{"$name":"c/d{lines:09}","text":"{"x" * 100}"}}\n'
            # Less than PIPE_BUF: it is written whole or not at all.
            written += os.write(pipe, line.encode())
            lines += 1
        except BlockingIOError:
            try:
                process.wait(0.01)
            except subprocess.TimeoutExpired:
                continue
        # More than the pipe and the server's buffer hold: a part is committed.
        if written > 600_000:
            process.terminate()
            written = -2**63
    os.close(pipe)
    assert process.wait(SECONDS) == 1
    assert "the server stops during the import" in process.stderr.read()
    process.stderr.close()
    assert not out.exists()
    server = start_server("--data", str(data))
    assert list(client_of(server, monkeypatch, "p").collections()) == []


def test_exports_that_fail(start_server, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    server = start_server("--memory", "--export-on-exit", str(blocked))
    client_of(server, monkeypatch, "p").document("c/d").set({})
    log = server.log
    server.process.terminate()
    assert server.process.wait(SECONDS) == 1
    assert str(blocked) in open(log).read()

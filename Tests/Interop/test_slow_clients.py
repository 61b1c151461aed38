"""Clients that take their responses slowly or not at all: memory is bounded, and others are served.

LARDER_SLOW_SECONDS is how long each of them goes on. Where it is set, a release build of the server is
alone on the machine: memory stays within 1.5 times the limit, and others' reads within 10 times
their time. Otherwise a debug build shares it with other checks: memory stays within twice the limit, and
others are served.
"""

import os
import pathlib
import socket
import statistics
import threading
import time

import grpc
import http2
import pytest
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.types import firestore as requests
from http2 import ACK, DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS

SECONDS = float(os.environ.get("LARDER_SLOW_SECONDS", "4"))
IS_ALONE = "LARDER_SLOW_SECONDS" in os.environ
TIMEOUT = 60
MIB = 1 << 20
MEMORY_LIMIT = 256 * MIB
# What a call takes up by itself, about three times of what an idle listener does.
CALL_BYTES = 16 << 10
DATABASE = "projects/slow/databases/(default)"
ROOT = f"{DATABASE}/documents"


class Honest:
    """A client whose calls are timed; it reads small documents, writes one and queries."""

    def __init__(self, server):
        self.channel = grpc.insecure_channel(server.address)
        self.stopped = threading.Event()
        self.times, self.errors = [], []

    def call(self, method, request):
        stream = self.channel.unary_stream(f"/{http2.SERVICE}/{method}")
        return list(stream(type(request).serialize(request), timeout=TIMEOUT))

    def run(self):
        get = requests.GetDocumentRequest(name=f"{ROOT}/small/0")
        query = requests.RunQueryRequest(
            parent=ROOT, structured_query={"from_": [{"collection_id": "small"}]})
        commit = requests.CommitRequest(
            database=DATABASE, writes=[{"update": document("small/0", 10)}])
        number = 0
        # A percentile is that of two times or more.
        while not self.stopped.wait(0.01) or len(self.times) < 2 and not self.errors:
            number += 1
            start = time.monotonic()
            try:
                self.call("GetDocument", get)
                self.times.append(time.monotonic() - start)
                if number % 10 == 0:
                    self.call("Commit", commit)
                if number % 15 == 0:
                    self.call("RunQuery", query)
            except grpc.RpcError as error:
                self.errors.append(error)

    def measure(self, seconds, body):
        """Calls while a body runs; gives the 99th percentile of reads."""
        self.stopped.clear()
        self.times, self.errors = [], []
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            body(time.monotonic() + seconds)
        finally:
            self.stopped.set()
            thread.join(3 * TIMEOUT)
        assert not thread.is_alive() and not self.errors, self.errors[:3]
        return statistics.quantiles(self.times, n=100)[98]


def document(path, size):
    return types.Document(name=f"{ROOT}/{path}", fields={"s": types.Value(string_value="x" * size)})


def anonymous_memory(server):
    """The server's memory without mapped files."""
    for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the server has ended")


@pytest.fixture(scope="module")
def server(start_server):
    server = start_server("--memory", "--memory-limit", str(MEMORY_LIMIT // MIB))
    honest = Honest(server)
    for number in range(12):
        for path, size in [(f"large/{number}", 900_000), (f"small/{number}", 100)]:
            honest.call("Commit", requests.CommitRequest(
                database=DATABASE, writes=[{"update": document(path, size)}]))
    honest.channel.close()
    return server, anonymous_memory(server)


def large_query():
    return requests.RunQueryRequest(
        parent=ROOT, structured_query={"from_": [{"collection_id": "large"}]})


def sorted_query():
    """A query whose results are sorted in memory."""
    query = large_query()
    query.structured_query.order_by = [
        types.StructuredQuery.Order(field={"field_path": "s"}, direction="DESCENDING")]
    return query


def listener():
    return requests.ListenRequest(database=DATABASE, add_target={
        "query": {"parent": ROOT, "structured_query": large_query().structured_query},
        "target_id": 1})


def get():
    return requests.GetDocumentRequest(name=f"{ROOT}/large/0")


def batch():
    return requests.BatchGetDocumentsRequest(
        database=DATABASE, documents=[f"{ROOT}/large/{number}" for number in range(12)])


def lists():
    return requests.ListDocumentsRequest(parent=ROOT, collection_id="large", page_size=12)


def limited_listener():
    """A listener of a query whose documents the server keeps."""
    listen = listener()
    listen.add_target.query.structured_query.limit = 12
    return listen


def commit(size):
    return lambda: requests.CommitRequest(
        database=DATABASE, writes=[{"update": document("large/0", size)}])


def calls(method, request, count, window):
    """The frames of calls on one connection, with a window for each.

    Requests to commit lack their last byte.
    """
    payload = http2.grpc_message(type(request).serialize(request))
    ends = method not in ("Listen", "Commit")
    if method == "Commit":
        payload = payload[:-1]
    yield http2.PREFACE
    yield http2.frame(SETTINGS, 0, 0, b"\0\4" + window.to_bytes(4, "big"))
    # The server's window for a stream is valid from here on.
    yield http2.frame(SETTINGS, ACK, 0)
    yield http2.frame(http2.WINDOW_UPDATE, 0, 0, (1 << 30).to_bytes(4, "big"))
    for number in range(count):
        stream = 2 * number + 1
        yield http2.frame(HEADERS, END_HEADERS, stream, http2.call_headers(method))
        for at in range(0, len(payload), 16_384):
            is_last = at + 16_384 >= len(payload)
            flags = END_STREAM if ends and is_last else 0
            yield http2.frame(DATA, flags, stream, payload[at:at + 16_384])


def send(connection, frames, end):
    """Sends frames as far as the window of the connection allows until a time."""
    window, received = 65_535, b""
    for frame in frames:
        size = len(frame) - 9 if frame != http2.PREFACE and frame[3] == DATA else 0
        while window < size:
            if time.monotonic() > end:
                return
            try:
                received += connection.recv(65_536)
            except TimeoutError:
                continue
            while len(received) >= 9 + int.from_bytes(received[:3], "big"):
                length = 9 + int.from_bytes(received[:3], "big")
                if received[3] == http2.WINDOW_UPDATE and received[5:9] == bytes(4):
                    window += int.from_bytes(received[9:13], "big")
                received = received[length:]
        connection.sendall(frame)
        window -= size


def attack(server, end, method, request, count, window, pace):
    """Makes calls again and again, and takes so many bytes a second of their responses."""
    while time.monotonic() < end:
        with socket.create_connection(("127.0.0.1", server.port), TIMEOUT) as connection:
            connection.settimeout(1)
            leave = min(end, time.monotonic() + 40)
            try:
                send(connection, calls(method, request, count, window), leave)
                while time.monotonic() < leave:
                    time.sleep(0.1)
                    if pace:
                        connection.recv(pace // 10)
            except (ConnectionError, TimeoutError):
                pass


KINDS = {
    "queries that are not taken": ("RunQuery", large_query, 200, 0, 0, 2),
    "sorted queries that are not taken": ("RunQuery", sorted_query, 200, 0, 0, 2),
    "documents that are not taken": ("GetDocument", get, 900, 0, 0, 4),
    "batches that are not taken": ("BatchGetDocuments", batch, 900, 0, 0, 2),
    "lists that are not taken": ("ListDocuments", lists, 900, 0, 0, 2),
    "requests that are not finished": ("Commit", commit(64_000), 900, 0, 0, 6),
    "large requests that are not finished": ("Commit", commit(900_000), 900, 0, 0, 3),
    "limited listeners that are not taken": ("Listen", limited_listener, 900, 0, 0, 2),
    "listeners that are not taken": ("Listen", listener, 900, 0, 0, 4),
    "queries that are taken slowly": ("RunQuery", large_query, 1, 1 << 30, 100_000, 20),
    "batches that are taken slowly": ("BatchGetDocuments", batch, 4, 1 << 30, 100_000, 20),
}


def test_changes_that_are_not_taken(server):
    """What others write waits for listeners that take nothing, as far as there is memory."""
    server, start = server
    honest = Honest(server)
    with socket.create_connection(("127.0.0.1", server.port), TIMEOUT) as connection:
        send(connection, calls("Listen", listener(), 20, 0), time.monotonic() + TIMEOUT)
        for number in range(60):
            honest.call("Commit", requests.CommitRequest(
                database=DATABASE, writes=[{"update": document(f"large/new{number}", 900_000)}]))
            assert anonymous_memory(server) < start + (1.5 if IS_ALONE else 2) * MEMORY_LIMIT
    for number in range(60):
        honest.call("Commit", requests.CommitRequest(
            database=DATABASE, writes=[{"delete": f"{ROOT}/large/new{number}"}]))
    honest.channel.close()


@pytest.mark.parametrize("kind", KINDS)
def test_slow_clients(server, kind):
    server, start = server
    method, request, count, window, pace, connections = KINDS[kind]
    honest = Honest(server)
    idle = honest.measure(2, lambda end: time.sleep(max(0, end - time.monotonic())))
    peak = 0

    def slow(end):
        nonlocal peak
        threads = [threading.Thread(
            target=attack, args=(server, end, method, request(), count, window, pace))
            for _ in range(connections)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            peak = max(peak, anonymous_memory(server))
            time.sleep(0.05)

    busy = honest.measure(SECONDS, slow)
    honest.channel.close()
    print(f"{kind}: {idle * 1e3:.1f} ms, then {busy * 1e3:.1f} ms; "
          f"{start / MIB:.0f} MiB, then {peak / MIB:.0f} MiB")
    # Buffers that the allocator keeps count, too.
    factor = 1.5 if IS_ALONE else 2
    assert peak < start + factor * MEMORY_LIMIT + CALL_BYTES * count * connections
    assert not IS_ALONE or busy < max(10 * idle, 0.25)

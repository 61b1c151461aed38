"""No client stops the others: honest calls beside each kind of attack in attackers.py.

With --full a release build of the server is alone on the machine, and each attack has its whole size:
memory stays within 1.5 times the limit, and the 99th percentile of honest calls within 10 times their
time. Otherwise attacks are smaller and several at once, and a debug build shares the machine with
other checks: bounds on time are generous, and attacks with large answers, each of which takes a debug
build seconds, are left to --full.
"""

import http.client
import json
import multiprocessing
import statistics
import threading
import time
import urllib.parse

import attackers
import grpc
import http2
import pytest
from attackers import DATABASE, NAMESPACE, ROOT
from google.cloud.firestore_v1.types import firestore as requests
from test_realtime_sockets import Client
from test_slow_clients import MEMORY_LIMIT, MIB, anonymous_memory

TIMEOUT = 30
STOP_SECONDS = 10
SMALL_SECONDS, LARGE_SECONDS = 0.03, 1
HEADERS = {"Content-Type": "application/json"}
LARGE = json.dumps("x" * 1_000_000)
LARGE_DOCUMENT = json.dumps({"fields": {"s": {"stringValue": "x" * 900_000}}})
SMALL_DOCUMENT = json.dumps({"fields": {"n": {"integerValue": "1"}}})


def tree(path, **query):
    return f"/{path}.json?" + urllib.parse.urlencode({"ns": NAMESPACE, **query})


def document(path):
    return f"/v1/{ROOT}/{path}"


SMALL = [
    ("PUT", tree("many/k0/w"), "1"), ("GET", tree("many/k0/w"), None),
    ("PATCH", document("small/a"), SMALL_DOCUMENT), ("GET", document("small/a"), None)]
LARGE_CALLS = [
    ("PUT", tree("large"), LARGE), ("GET", tree("large"), None),
    ("PATCH", document("big/a"), LARGE_DOCUMENT), ("GET", document("big/a"), None)]
QUERY = {"from": [{"collectionId": "small"}]}
KINDS = {
    "a value": SMALL[1], "a write of a value": SMALL[0],
    "a query of a tree": ("GET", tree("small", orderBy='"$key"', limitToFirst=2), None),
    "an update": ("PATCH", tree("small"), '{"a": 1, "b": 2}'),
    "a push": ("POST", tree("small/list"), "1"),
    "a document": SMALL[3], "a write of a document": SMALL[2],
    "a list of documents": ("GET", document("small") + "?pageSize=5", None),
    "a list of collections": ("POST", f"/v1/{ROOT}:listCollectionIds", "{}"),
    "a query": ("POST", f"/v1/{ROOT}:runQuery", json.dumps({"structuredQuery": QUERY})),
    "an aggregation": ("POST", f"/v1/{ROOT}:runAggregationQuery", json.dumps({
        "structuredAggregationQuery": {
            "structuredQuery": QUERY, "aggregations": [{"count": {}, "alias": "c"}]}})),
    "a batch": ("POST", f"/v1/{ROOT}:batchGet", json.dumps({"documents": [f"{ROOT}/small/a"]})),
    "a commit": ("POST", f"/v1/{ROOT}:commit", json.dumps({
        "writes": [{"update": {"name": f"{ROOT}/small/b", "fields": {}}}]})),
}


class Honest:
    """A connection that makes calls, whose times are kept with the errors."""

    def __init__(self, port, calls, interval, record):
        self.port, self.calls, self.interval, self.record = port, calls, interval, record
        self.connection = None

    def call(self, method, path, body):
        """The time that a call takes; raises for one that is refused or cut."""
        self.connection = self.connection or http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=TIMEOUT)
        start = time.monotonic()
        self.connection.request(method, path, body, HEADERS)
        response = self.connection.getresponse()
        self.answer = response.read()
        if response.status != 200:
            raise AssertionError(f"{method} {path}: {response.status} {self.answer[:200]}")
        return time.monotonic() - start

    def run(self, stopped):
        while not stopped.wait(self.interval):
            for call in self.calls:
                try:
                    self.record.times.append(self.call(*call))
                except (OSError, http.client.HTTPException, AssertionError) as error:
                    self.record.errors.append(error)
                    self.connection = None


class Record:
    def __init__(self):
        self.times, self.errors = [], []

    @property
    def median(self):
        return statistics.median(self.times)

    def percentile(self):
        return statistics.quantiles(self.times, n=100)[98]


def measure(port, seconds, watch=lambda: None):
    """Small and large calls of a client during a time."""
    small, large, stopped = Record(), Record(), threading.Event()
    clients = [Honest(port, SMALL, SMALL_SECONDS, small), Honest(port, LARGE_CALLS, LARGE_SECONDS, large)]
    threads = [threading.Thread(target=client.run, args=(stopped,)) for client in clients]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end or min(len(small.times), len(large.times)) < 4:
        watch()
        if small.errors or large.errors:
            break
        time.sleep(0.05)
    stopped.set()
    for thread in threads:
        thread.join()
    assert not small.errors and not large.errors, (small.errors + large.errors)[:3]
    return small, large


class Attack:
    """Processes that attack a server."""

    def __init__(self, port, kinds, scale):
        spawning = multiprocessing.get_context("spawn")
        self.processes = [
            spawning.Process(target=attackers.attack, args=(kind, port, scale), daemon=True)
            for kind in kinds]

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.join()


GROUPS = [attackers.TREES[:6], attackers.DOCUMENTS]


def pytest_generate_tests(metafunc):
    """One attack at a time, or several."""
    if "kinds" in metafunc.fixturenames:
        every = [[kind] for kind in attackers.TREES + attackers.DOCUMENTS]
        groups = every if metafunc.config.getoption("--full") else GROUPS
        names = ["-".join(kind.__name__ for kind in group) for group in groups]
        metafunc.parametrize("kinds", groups, ids=names)


@pytest.fixture
def is_full(request):
    return request.config.getoption("--full")


@pytest.fixture
def scale(is_full):
    return 1 if is_full else 0.02


@pytest.fixture
def server(start_server, is_full):
    """A server with 5 MB in each database."""
    server = start_server("--memory", "--memory-limit", str(MEMORY_LIMIT // MIB))
    client = Honest(server.port, [], 0, None)
    children, listens = (50_000, 20) if is_full else (1_000, 5)
    many = {f"k{at}": {"w": 0, **{f"v{tag}": at for tag in range(listens)}} for at in range(children)}
    client.call("PUT", tree("many"), json.dumps(many))
    for at in range(5):
        client.call("PATCH", document(f"large/{at}"), LARGE_DOCUMENT)
    for at in range(0, children, 500):
        writes = [{"update": {"name": f"{ROOT}/many/k{number}",
                              "fields": {"v": {"integerValue": str(number)}}}}
                  for number in range(at, at + 500)]
        client.call("POST", f"/v1/{ROOT}:commit", json.dumps({"writes": writes}))
    for call in [*SMALL, *LARGE_CALLS]:
        client.call(*call)
    yield server
    if server.process.poll() is None:
        server.kill()


def stop(server):
    """The exit status, and the time of the stop."""
    start = time.monotonic()
    server.process.terminate()
    status = server.process.wait(60)
    return status, time.monotonic() - start


def test_no_attack_stops_others(server, kinds, scale, is_full):
    idle_small, idle_large = measure(server.port, 4 if is_full else 0.5)
    start = peak = anonymous_memory(server)

    def watch():
        nonlocal peak
        peak = max(peak, anonymous_memory(server))

    with Attack(server.port, kinds, scale):
        small, large = measure(server.port, 20 if is_full else 3, watch)
        status, seconds = stop(server)
    print(
        f"{[kind.__name__ for kind in kinds]}: small {idle_small.median * 1e3:.1f}/{idle_small.percentile() * 1e3:.1f} ms, then "
        f"{small.median * 1e3:.1f}/{small.percentile() * 1e3:.1f}, at most {max(small.times) * 1e3:.0f}; "
        f"large {idle_large.median * 1e3:.1f}, then {large.median * 1e3:.1f}/{max(large.times) * 1e3:.0f} ms; "
        f"{start / MIB:.0f} MiB, then {peak / MIB:.0f}; SIGTERM {status} after {seconds:.1f} s")
    assert (status, seconds < STOP_SECONDS) == (0, True)
    assert peak < start + (1.5 if is_full else 2) * MEMORY_LIMIT
    if is_full:
        assert small.percentile() < max(10 * idle_small.percentile(), 0.25)
        assert large.percentile() < max(10 * idle_large.percentile(), 1)
    else:
        assert max(small.times) < 10 and max(large.times) < 20


def ask_socket(action, **body):
    def ask(server):
        client = Client(server, NAMESPACE)
        assert client.ask(action, **body)["s"] == "ok"
        client.close()
    return ask


def ask_stream(server):
    """The first event of a stream."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)
    connection.request("GET", tree("small"), headers={"Accept": "text/event-stream"})
    assert connection.getresponse().readline() == b"event: put\n"
    connection.close()


def ask_listener(server):
    """The first snapshot of a listener."""
    request = requests.ListenRequest(database=DATABASE, add_target={"target_id": 1, "query": {
        "parent": ROOT, "structured_query": {"from_": [{"collection_id": "small"}]}}})
    with grpc.insecure_channel(server.address) as channel:
        listen = channel.stream_stream(
            f"/{http2.SERVICE}/Listen", requests.ListenRequest.serialize,
            requests.ListenResponse.deserialize)
        asked = threading.Event()

        def sent():
            yield request
            asked.wait(TIMEOUT)

        answers = listen(sent(), timeout=TIMEOUT)
        assert any(answer.target_change.target_change_type.name == "CURRENT" for answer in answers)
        asked.set()


def ask_transaction(server):
    """A document is read and written in a transaction."""
    client = Honest(server.port, [], 0, None)
    client.call("POST", f"/v1/{ROOT}:beginTransaction", "{}")
    token = json.loads(client.answer)["transaction"]
    client.call("POST", f"/v1/{ROOT}:batchGet", json.dumps(
        {"documents": [f"{ROOT}/small/c"], "transaction": token}))
    client.call("POST", f"/v1/{ROOT}:commit", json.dumps({
        "transaction": token, "writes": [{"update": {"name": f"{ROOT}/small/c", "fields": {}}}]}))


CONVERSATIONS = {
    "a value over a WebSocket": ask_socket("g", p="/many/k0/w", q={}),
    "a write over a WebSocket": ask_socket("p", p="/many/k0/w", d=2),
    "an update over a WebSocket": ask_socket("m", p="/small", d={"a": 1}),
    "a listen over a WebSocket": ask_socket("q", p="/small", h=""),
    "an operation for the end of a session": ask_socket("o", p="/small/left", d=1),
    "an event stream": ask_stream, "a listener": ask_listener, "a transaction": ask_transaction,
}
HOLDERS = [
    attackers.queued_gets, attackers.unread_gets, attackers.sorted_queries, attackers.aggregations,
    attackers.commits]


def test_every_kind_of_call_is_answered_beside_clients_that_hold_every_pool(server, scale, is_full):
    with Attack(server.port, HOLDERS, scale):
        time.sleep(2)
        times = {}
        for kind, call in KINDS.items():
            times[kind] = Honest(server.port, [], 0, None).call(*call)
        for kind, ask in CONVERSATIONS.items():
            start = time.monotonic()
            ask(server)
            times[kind] = time.monotonic() - start
        assert stop(server)[0] == 0
    print({kind: f"{seconds * 1e3:.0f} ms" for kind, seconds in times.items()})
    assert max(times.values()) < (2 if is_full else TIMEOUT), times

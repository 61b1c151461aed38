"""Wrong HTTP/2, wrong gRPC and wrong requests: an error, never a crash, and no other client is harmed.

LARDER_TEST_SEED repeats a run whose seed was printed, LARDER_FUZZ_CASES is how many cases each kind
of fuzzing tries.
"""

import os
import pathlib
import random
import socket
import time

import grpc
import pytest
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.types import firestore as requests

import http2
from http2 import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, SETTINGS

SECONDS = 60
CASES = int(os.environ.get("LARDER_FUZZ_CASES", "1500"))
MIB = 1 << 20
DATABASE = "projects/fuzz/databases/(default)"
ROOT = f"{DATABASE}/documents"


@pytest.fixture
def rng():
    seed = int(os.environ.get("LARDER_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print(f"LARDER_TEST_SEED={seed}")
    return random.Random(seed)


class Watched:
    """A server whose memory, descriptors and health are looked at."""

    def __init__(self, server):
        self.server, self.port = server, server.port
        self.folder = pathlib.Path(f"/proc/{server.process.pid}")
        self.channel = grpc.insecure_channel(server.address)

    def memory(self):
        """Bytes in memory now."""
        for line in (self.folder / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("the server has ended")

    def descriptors(self):
        return len(list((self.folder / "fd").iterdir()))

    def call(self, method, payload):
        """Makes a call with any bytes; gives the status."""
        if method in STREAMS:
            stream = self.channel.stream_stream(f"/{http2.SERVICE}/{method}")
            call = stream(iter([payload]), timeout=SECONDS)
        else:
            stream = self.channel.unary_stream(f"/{http2.SERVICE}/{method}")
            call = stream(payload, timeout=SECONDS)
        try:
            for _ in call:
                # An endless listener is closed once it has received something.
                if method == "Listen":
                    call.cancel()
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    def open_all_databases(self):
        """Opens as many as there may be, so that a database of a mutated name adds none."""
        for database in ["(default)", *(f"d{number}" for number in range(10_000))]:
            request = requests.CreateDocumentRequest(
                parent=f"projects/fuzz/databases/{database}/documents", collection_id="c",
                document=types.Document())
            code = self.call("CreateDocument", type(request).serialize(request))
            if code == grpc.StatusCode.RESOURCE_EXHAUSTED:
                return
        raise RuntimeError("there is no limit of databases")

    def check(self):
        """A valid call of another client is served."""
        assert self.server.process.poll() is None, pathlib.Path(self.server.log).read_text()
        request = requests.GetDocumentRequest(name=f"{ROOT}/c/absent")
        code = self.call("GetDocument", type(request).serialize(request))
        assert code == grpc.StatusCode.NOT_FOUND


@pytest.fixture(scope="module")
def watched(start_server):
    watched = Watched(start_server("--memory"))
    watched.check()
    watched.open_all_databases()
    yield watched
    watched.channel.close()


STREAMS = ("Listen", "Write")


def samples():
    """A right request of each method, as bytes."""
    document = types.Document(name=f"{ROOT}/c/d", fields={
        "n": types.Value(integer_value=7), "s": types.Value(string_value="text"),
        "m": types.Value(map_value={"fields": {"x": types.Value(double_value=0.5)}}),
        "a": types.Value(array_value={"values": [types.Value(null_value=None)]})})
    write = types.Write(update=document, update_transforms=[
        {"field_path": "n", "increment": types.Value(integer_value=1)}])
    query = types.StructuredQuery(
        from_=[{"collection_id": "c"}], limit=10,
        where={"field_filter": {"field": {"field_path": "n"}, "op": "GREATER_THAN",
                                "value": types.Value(integer_value=3)}},
        order_by=[{"field": {"field_path": "n"}, "direction": "DESCENDING"}],
        start_at={"values": [types.Value(integer_value=9)], "before": True})
    aggregation = types.StructuredAggregationQuery(
        structured_query=query, aggregations=[{"alias": "a", "count": {}}])
    made = {
        "GetDocument": requests.GetDocumentRequest(name=f"{ROOT}/c/d"),
        "ListDocuments": requests.ListDocumentsRequest(
            parent=ROOT, collection_id="c", page_size=3),
        "CreateDocument": requests.CreateDocumentRequest(
            parent=ROOT, collection_id="c", document=types.Document(fields=document.fields)),
        "UpdateDocument": requests.UpdateDocumentRequest(
            document=document, update_mask={"field_paths": ["n", "m.x"]}),
        "DeleteDocument": requests.DeleteDocumentRequest(name=f"{ROOT}/c/d"),
        "BatchGetDocuments": requests.BatchGetDocumentsRequest(
            database=DATABASE, documents=[f"{ROOT}/c/d", f"{ROOT}/c/e"]),
        "BeginTransaction": requests.BeginTransactionRequest(database=DATABASE),
        "Commit": requests.CommitRequest(database=DATABASE, writes=[write]),
        "Rollback": requests.RollbackRequest(database=DATABASE, transaction=b"1"),
        "RunQuery": requests.RunQueryRequest(parent=ROOT, structured_query=query),
        "RunAggregationQuery": requests.RunAggregationQueryRequest(
            parent=ROOT, structured_aggregation_query=aggregation),
        "PartitionQuery": requests.PartitionQueryRequest(
            parent=ROOT, partition_count=3, structured_query=types.StructuredQuery(
                from_=[{"collection_id": "c", "all_descendants": True}])),
        "Write": requests.WriteRequest(database=DATABASE),
        "Listen": requests.ListenRequest(database=DATABASE, add_target=types.Target(
            query={"parent": ROOT, "structured_query": query}, target_id=1)),
        "ListCollectionIds": requests.ListCollectionIdsRequest(parent=ROOT),
        "BatchWrite": requests.BatchWriteRequest(database=DATABASE, writes=[write]),
    }
    return {method: type(request).serialize(request) for method, request in made.items()}


def mutated(rng, data):
    """Bytes some of which were changed, lost or doubled."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.randint(1, 8))
        kind = rng.randrange(4)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 2:
            del data[at:end]
        else:
            data[at:at] = data[at:end]
    return bytes(data)


def wrong_frames(rng, frames):
    """Frames of which one or two were changed, lost, doubled, moved, or joined by others."""
    frames = list(frames)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(frames))
        kind = rng.randrange(7)
        if kind == 0:
            del frames[at]
        elif kind == 1:
            frames.insert(at, frames[at])
        elif kind == 2:
            other = rng.randrange(len(frames))
            frames[at], frames[other] = frames[other], frames[at]
        elif kind == 3:
            byte = rng.randrange(9)
            value = rng.choice([b"\0", b"\1", b"\2", b"\x7f", b"\xff"])
            frames[at] = frames[at][:byte] + value + frames[at][byte + 1:]
        elif kind == 4:
            frames[at] = mutated(rng, frames[at])
        elif kind == 5:
            frames[at] = frames[at][:rng.randrange(len(frames[at]) + 1)]
        else:
            payload = rng.randbytes(rng.choice([0, 1, 4, 5, 6, 8, 9, 300]))
            frames.insert(at, http2.frame(
                rng.randrange(12), rng.randrange(256), rng.choice([0, 1, 2, 3, 1 << 31]), payload,
                rng.choice([None, None, None, 0, 1 << 20])))
        if not frames:
            break
    return frames


def sweep(watched, cases, body):
    """Runs cases, looks after the server, and sees that memory does not grow from case to case."""
    descriptors = watched.descriptors()
    warm = None
    for number in range(cases):
        body()
        if number % 250 == 0:
            watched.check()
        if number == cases // 2:
            warm = watched.memory()
    watched.check()
    assert watched.memory() - warm < 32 * MIB
    # A connection that the client has left may take a moment.
    assert watched.descriptors() <= descriptors + 8


def test_requests_with_mutated_bytes(watched, rng):
    right = samples()
    methods = list(right)
    for method in methods:
        assert watched.call(method, right[method]) in (
            grpc.StatusCode.OK, grpc.StatusCode.CANCELLED, grpc.StatusCode.NOT_FOUND,
            grpc.StatusCode.INVALID_ARGUMENT), method
    seen = set()

    def one():
        method = rng.choice(methods)
        payload = right[rng.choice(methods) if rng.random() < 0.05 else method]
        seen.add(watched.call(method, mutated(rng, payload)))

    sweep(watched, CASES, one)
    assert grpc.StatusCode.INVALID_ARGUMENT in seen
    assert not seen & {grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED,
                       grpc.StatusCode.DATA_LOSS, grpc.StatusCode.UNAVAILABLE}, seen


def test_wrong_frames(watched, rng):
    right = samples()
    settings = http2.frame(SETTINGS, 0, 0)

    def one():
        method = rng.choice(list(right))
        frames = wrong_frames(rng, [settings, *http2.call(method, right[method])])
        data = http2.PREFACE + b"".join(frames)
        if rng.random() < 0.1:
            data = mutated(rng, data)
        http2.converse(watched.port, data, SECONDS, abort=rng.random() < 0.2)

    sweep(watched, CASES, one)


def reset_at_once(count):
    for number in range(count):
        stream = 2 * number + 1
        yield http2.frame(HEADERS, END_HEADERS, stream, http2.call_headers("Listen"))
        yield http2.frame(http2.RST_STREAM, 0, stream, b"\0\0\0\x08")


def endless_headers(count):
    yield http2.frame(HEADERS, 0, 1, http2.call_headers("GetDocument"))
    for number in range(count):
        yield http2.frame(CONTINUATION, 0, 1, http2.header_block([(f"x{number}", "v" * 16_000)]))


def many_streams(count):
    for number in range(count):
        yield http2.frame(HEADERS, END_HEADERS, 2 * number + 1, http2.call_headers("Listen"))


def large_table(count):
    """One large field, remembered once, named many times in a few bytes (an "HPACK bomb")."""
    block = http2.call_headers("GetDocument")
    name, value = b"x-large", b"v" * 3_900
    rest = len(value) - 127
    block += b"\x40" + bytes([len(name)]) + name
    block += b"\x7f" + bytes([rest % 128 + 128, rest // 128]) + value
    yield http2.frame(HEADERS, END_HEADERS, 1, block)
    for number in range(1, count):
        yield http2.frame(
            HEADERS, END_HEADERS, 2 * number + 1, http2.call_headers("GetDocument") + b"\xbe" * 10_000)


def reset_by_the_server(count):
    """Calls that the server must reset, one error of HTTP/2 each ("MadeYouReset")."""
    payload = http2.grpc_message(samples()["GetDocument"])
    for number in range(count):
        stream = 2 * number + 1
        yield http2.frame(HEADERS, END_HEADERS, stream, http2.call_headers("GetDocument"))
        yield http2.frame(DATA, 0, stream, payload)
        yield http2.frame(http2.WINDOW_UPDATE, 0, stream, b"\0\0\0\0")


def large_headers(count):
    block = http2.call_headers("GetDocument", *((f"x-{n}", "v" * 1_000) for n in range(50)))
    for number in range(count):
        stream = 2 * number + 1
        pieces = [block[at:at + 16_384] for at in range(0, len(block), 16_384)]
        yield http2.frame(HEADERS, 0, stream, pieces[0])
        for piece in pieces[1:-1]:
            yield http2.frame(CONTINUATION, 0, stream, piece)
        yield http2.frame(CONTINUATION, END_HEADERS, stream, pieces[-1])


ATTACKS = {
    "streams that the server resets": reset_by_the_server(20_000),
    "headers above the limit": large_headers(1_000),
    "frames of unknown kinds": (
        http2.frame(200 + number % 50, 0xff, 0, b"x" * 1_000) for number in range(50_000)),
    "streams that are reset at once": reset_at_once(20_000),
    "headers without an end": endless_headers(4_000),
    "settings that are never read": (
        http2.frame(SETTINGS, 0, 0, b"\0\3\0\0\0\x64") for _ in range(200_000)),
    "pings that are never read": (http2.frame(PING, 0, 0, b"12345678") for _ in range(200_000)),
    "more streams than are allowed": many_streams(20_000),
    "empty data": (
        f for start in [[http2.frame(HEADERS, END_HEADERS, 1, http2.call_headers("Commit"))]]
        for f in start + [http2.frame(DATA, 0, 1)] * 200_000),
    "more data than the window": (
        f for start in [[http2.frame(HEADERS, END_HEADERS, 1, http2.call_headers("Commit")),
                         http2.frame(DATA, 0, 1, http2.grpc_message(b"", length=1 << 31))]]
        for f in start + [http2.frame(DATA, 0, 1, b"x" * 16_384)] * 4_000),
    "small fields that stand for large ones": large_table(1_000),
    "windows that overflow": (
        http2.frame(http2.WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") for _ in range(10)),
    "priorities of streams that are not": (
        http2.frame(http2.PRIORITY, 0, 2 * number + 1, b"\0\0\0\0\x10")
        for number in range(100_000)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(watched, name):
    """A client that only takes, sends what costs, and reads nothing."""
    before, peak, pending = watched.memory(), 0, b""
    frames = ATTACKS[name]
    with socket.create_connection(("127.0.0.1", watched.port), SECONDS) as connection:
        # Where the server stops reading, so does this.
        connection.settimeout(2)
        try:
            connection.sendall(http2.PREFACE + http2.frame(SETTINGS, 0, 0))
            for number, frame in enumerate(frames):
                pending += frame
                if len(pending) > 65_536:
                    connection.sendall(pending)
                    pending = b""
                    peak = max(peak, watched.memory())
            connection.sendall(pending)
        except (ConnectionError, TimeoutError):
            pass
        watched.check()
        peak = max(peak, watched.memory())
    assert peak - before < 64 * MIB, f"{(peak - before) / MIB:.0f} MiB more"


def test_idle_connections(watched):
    """Many cost little, and nothing is left of them."""
    count, files, before = 300, watched.descriptors(), watched.memory()
    connections = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", watched.port), SECONDS)
        connection.sendall(http2.PREFACE + http2.frame(SETTINGS, 0, 0))
        connections.append(connection)
    for connection in connections:
        assert connection.recv(9)[3] == SETTINGS
    watched.check()
    assert watched.memory() - before < count * 64 * 1024
    for connection in connections:
        connection.close()
    end = time.monotonic() + SECONDS
    while watched.descriptors() > files + 8 and time.monotonic() < end:
        watched.check()
    assert watched.descriptors() <= files + 8


def test_calls_that_are_taken_back(watched):
    """Each listener that ends is a reset; the others of the connection, and its calls, go on."""
    last = 2 * 2_000 + 1
    payload = samples()["GetDocument"]
    with socket.create_connection(("127.0.0.1", watched.port), SECONDS) as connection:
        connection.sendall(http2.PREFACE + http2.frame(SETTINGS, 0, 0))
        connection.sendall(b"".join(reset_at_once(2_000)))
        connection.sendall(b"".join([
            http2.frame(HEADERS, END_HEADERS, last, http2.call_headers("GetDocument")),
            http2.frame(DATA, END_STREAM, last, http2.grpc_message(payload))]))
        answer = [(kind, flags & END_STREAM) for kind, flags, stream in until_end(
            last, http2.frames(connection)) if stream == last]
    assert answer[-1] == (HEADERS, END_STREAM)


def test_pings_that_come_too_often(watched):
    """A client that makes the server work for nothing is disconnected with the reason."""
    ping = http2.frame(PING, 0, 0, b"12345678")
    with socket.create_connection(("127.0.0.1", watched.port), SECONDS) as connection:
        connection.sendall(http2.PREFACE + http2.frame(SETTINGS, 0, 0) + ping * 6)
        kinds = [kind for kind, _, _ in http2.frames(connection)]
    assert http2.GOAWAY in kinds


def until_end(call, frames):
    """The frames to the end of a call."""
    for kind, flags, stream in frames:
        yield kind, flags, stream
        if stream == call and kind != http2.WINDOW_UPDATE and flags & END_STREAM:
            return


def test_messages_whose_length_is_a_lie(watched):
    right = samples()["GetDocument"]
    for length in [0, 1, len(right) - 1, len(right) + 1, 1 << 20, (1 << 32) - 1]:
        for compressed in [0, 1, 2]:
            message = http2.grpc_message(right, compressed, length)
            frames = [http2.frame(SETTINGS, 0, 0),
                      http2.frame(HEADERS, END_HEADERS, 1, http2.call_headers("GetDocument")),
                      http2.frame(DATA, END_STREAM, 1, message)]
            http2.converse(watched.port, http2.PREFACE + b"".join(frames), SECONDS)
            watched.check()


def test_the_time_of_a_call_is_over(watched):
    """The server ends a call by itself, whatever its client does."""
    headers = http2.call_headers("Listen", ("grpc-timeout", "100m"))
    with socket.create_connection(("127.0.0.1", watched.port), SECONDS) as connection:
        connection.sendall(http2.PREFACE + http2.frame(SETTINGS, 0, 0)
                           + http2.frame(HEADERS, END_HEADERS, 1, headers))
        of_call = [(kind, flags & END_STREAM) for kind, flags, stream in until(
            http2.RST_STREAM, http2.frames(connection)) if stream == 1]
    assert of_call[-2:] == [(HEADERS, END_STREAM), (http2.RST_STREAM, 0)]


def until(kind, frames):
    """The frames to the first of a kind."""
    for frame in frames:
        yield frame
        if frame[0] == kind:
            return


def test_calls_that_are_done_leave_no_timers(watched):
    """What clients would have waited for is forgotten with the call."""
    payload = samples()["GetDocument"]
    call = watched.channel.unary_unary(f"/{http2.SERVICE}/GetDocument")

    def calls(count):
        for _ in range(count):
            with pytest.raises(grpc.RpcError):
                call(payload, timeout=3600)

    calls(500)
    before = watched.memory()
    calls(10_000)
    grown = watched.memory() - before
    assert grown < 5_000_000, f"{grown / 10_000:.0f} bytes a call"


@pytest.mark.parametrize("cut", [0, 1, 5, 1_000, 1_999])
def test_a_frame_that_is_cut_off_is_no_part_of_the_next_call(start_server, cut):
    """A request that exceeds its announced length, and another one on the same connection."""
    server = start_server("--memory")

    def commit(path, text):
        return requests.CommitRequest.serialize(requests.CommitRequest(
            database=DATABASE, writes=[types.Write(update=types.Document(
                name=f"{ROOT}/{path}", fields={"x": types.Value(string_value=text)}))]))

    # Announced for a document of its own, with room at the end for the other's request.
    mine = http2.grpc_message(commit("c/attacker", "a" * 2_000))
    headers = http2.call_headers("Commit", ("content-length", str(cut)))
    other = http2.grpc_message(commit("c/victim", "v"))
    data = http2.PREFACE + b"".join([
        http2.frame(SETTINGS, 0, 0), http2.frame(HEADERS, END_HEADERS, 1, headers),
        http2.frame(DATA, 0, 1, mine),
        http2.frame(HEADERS, END_HEADERS, 3, http2.call_headers("Commit")),
        http2.frame(DATA, END_STREAM, 3, other)])
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as connection:
        # The first part of the frame comes by itself.
        start = data.index(mine) + max(cut, 1)
        connection.sendall(data[:start])
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        watched = Watched(server)
        watched.call("GetDocument", requests.GetDocumentRequest.serialize(
            requests.GetDocumentRequest(name=f"{ROOT}/c/none")))
        connection.sendall(data[start:])
        for kind, flags, stream in http2.frames(connection):
            if stream == 3 and flags & END_STREAM:
                break
    for name, code in [("victim", grpc.StatusCode.OK), ("attacker", grpc.StatusCode.NOT_FOUND)]:
        request = requests.GetDocumentRequest(name=f"{ROOT}/c/{name}")
        assert watched.call("GetDocument", type(request).serialize(request)) == code
    watched.channel.close()
    assert server.stop() == 0

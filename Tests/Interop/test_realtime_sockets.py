"""Realtime Databases over WebSockets, by a client that knows only the messages of the protocol."""

import http.client
import json
import os
import random
import socket
import threading
import time
import urllib.request

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

SECONDS = 60
SEGMENT = 16_384


@pytest.fixture(scope="module")
def server(start_server):
    return start_server("--memory")


class Client:
    """A session: what it is sent is kept as (kind, message)."""

    def __init__(self, server, namespace="sockets", last=None):
        target = f"ws://{server.address}/.ws?v=5&ns={namespace}" + (f"&ls={last}" if last else "")
        self.socket = connect(target, max_size=None, compression=None)
        self.number = 0
        self.pushes = []
        kind, hello = self.receive()
        assert kind == "c" and hello["t"] == "h" and hello["d"]["v"] == "5"
        assert hello["d"]["h"] == server.address
        assert abs(hello["d"]["ts"] / 1000 - time.time()) < 60
        self.session = hello["d"]["s"]

    def receive(self):
        text = self.socket.recv(timeout=SECONDS)
        if len(text) <= 6 and text.isdigit():
            text = "".join(self.socket.recv(timeout=SECONDS) for _ in range(int(text)))
        message = json.loads(text)
        return message["t"], message["d"]

    def send_text(self, text):
        pieces = [text[at:at + SEGMENT] for at in range(0, len(text), SEGMENT)]
        if len(pieces) > 1:
            self.socket.send(str(len(pieces)))
        for piece in pieces:
            self.socket.send(piece)

    def send(self, action, **body):
        self.number += 1
        message = {"t": "d", "d": {"r": self.number, "a": action, "b": body}}
        # Every other message has escapes.
        self.send_text(json.dumps(message, ensure_ascii=self.number % 2 == 0))
        return self.number

    def ask(self, action, **body):
        """The answer to a request; pushes before it are kept."""
        number = self.send(action, **body)
        while True:
            kind, data = self.receive()
            if kind == "d" and data.get("r") == number:
                return data["b"]
            self.pushes.append(data)

    def push(self):
        """The next push."""
        if self.pushes:
            return self.pushes.pop(0)
        return self.receive()[1]

    def taken(self):
        pushes, self.pushes = self.pushes, []
        return [(push["a"], push["b"]) for push in pushes]

    def close(self):
        self.socket.close()


def test_listens_and_writes(server):
    writer, reader = Client(server), Client(server)
    assert reader.ask("q", p="/lw", h="") == {"s": "ok", "d": {}}
    assert writer.ask("s", c={"sdk.test": 1})["s"] == "ok"
    assert writer.ask("p", p="/lw/a", d={".sv": "timestamp"})["s"] == "ok"
    push = reader.push()
    assert push["a"] == "d" and push["b"]["p"] == "lw/a"
    assert abs(push["b"]["d"] / 1000 - time.time()) < 60
    assert writer.ask("m", p="/lw", d={"b/c": 1, "a": None})["s"] == "ok"
    push = reader.push()
    assert push["a"] == "m" and push["b"] == {"p": "lw", "d": {"b/c": 1, "a": None}}
    assert reader.ask("g", p="/lw", q={}) == {"s": "ok", "d": {"b": {"c": 1}}}
    reader.ask("n", p="/lw")
    writer.ask("p", p="/lw", d=None)
    assert reader.ask("g", p="/lw", q={})["d"] is None and not reader.taken()


def test_windows(server):
    client = Client(server)
    client.ask("p", p="/scores", d={"a": 21, "b": 55, "c": 3})
    answer = client.ask("q", p="/scores", q={"i": ".value", "l": 2, "vf": "r"}, t=1, h="")
    assert answer == {"s": "ok", "d": {}}
    assert client.taken() == [("d", {"p": "scores", "d": {"a": 21, "b": 55}, "t": 1})]
    client.ask("p", p="/scores/d", d=99)
    assert client.taken() == [("m", {"p": "scores", "d": {"d": 99, "a": None}, "t": 1})]


def test_stale_conditions(server):
    client = Client(server)
    assert client.ask("p", p="/n", d=1, h="")["s"] == "ok"
    client.ask("q", p="/n", h="")
    client.taken()
    # The hash of 1, as documented.
    answer = client.ask("p", p="/n", d=2, h="YPVfR2bXt/lcDjiQZ8pOkAd3qkQ=")
    assert answer["s"] == "ok"
    client.taken()
    answer = client.ask("p", p="/n", d=3, h="YPVfR2bXt/lcDjiQZ8pOkAd3qkQ=")
    assert answer["s"] == "datastale"
    assert client.taken() == [("d", {"p": "n", "d": 2})]


def test_long_messages(server):
    client = Client(server)
    value = "ä€x" * 50_000
    assert client.ask("p", p="/long", d=value)["s"] == "ok"
    assert client.ask("g", p="/long", q={})["d"] == value


def test_presence(server):
    reader = Client(server)
    reader.ask("q", p="/status", h="")
    for end in ["close", "break", "takeover"]:
        client = Client(server)
        assert client.ask("o", p="/status/a", d="offline")["s"] == "ok"
        assert client.ask("om", p="/status", d={"b": {".sv": "timestamp"}, "c": 1})["s"] == "ok"
        assert client.ask("oc", p="/status/c", d=None)["s"] == "ok"
        assert client.ask("p", p="/status", d={"a": "online"})["s"] == "ok"
        reader.push()
        if end == "close":
            client.close()
        elif end == "break":
            # The connection ends without a farewell.
            client.socket.socket.shutdown(socket.SHUT_RDWR)
        else:
            next_client = Client(server, last=client.session)
        pushes = {}
        while len(pushes) < 2:
            push = reader.push()["b"]
            pushes[push["p"]] = push["d"]
        assert pushes["status/a"] == "offline" and pushes["status/b"] > 1_500_000_000_000
        if end == "takeover":
            with pytest.raises(ConnectionClosed):
                client.socket.recv(timeout=SECONDS)
            next_client.close()


def test_characters_of_all_planes(server):
    client = Client(server)
    for character in (chr(plane << 16 | 0xbb7) for plane in range(17)):
        for _ in range(2):
            assert client.ask("p", p=f"/planes/{character}", d={character: character})["s"] == "ok"
            assert client.ask("g", p=f"/planes/{character}")["d"] == {character: character}


def test_tokens(server):
    client = Client(server)
    assert client.ask("gauth", cred="owner", noauth=True) == {"s": "ok", "d": {"auth": None}}
    assert client.ask("gauth", cred="owner", authvar={"uid": "ada"})["d"]["auth"]["uid"] == "ada"
    # A restriction that is not valid leaves no rights.
    rules = urllib.request.Request(
        f"http://{server.address}/.settings/rules.json?ns=restricted&auth=owner", method="PUT",
        data=b"""{"rules": {".write": "auth.uid === 'ada'"}}""")
    urllib.request.urlopen(rules, timeout=SECONDS)
    restricted = Client(server, "restricted")
    for body in [{"authvar": "ada"}, {"noauth": 1}, {"auth_variable_override": {"uid": "ada"}}]:
        assert restricted.ask("gauth", cred="owner")["s"] == "ok"
        assert restricted.ask("p", p="/a", d=1)["s"] == "ok"
        assert restricted.ask("gauth", cred="owner", **body)["s"] == "failed"
        assert restricted.ask("p", p="/a", d=2)["s"] == "permission_denied"
    for body, answer in [({"noauth": True}, "permission_denied"), ({"authvar": {}}, "permission_denied"),
                         ({"authvar": {"uid": "ada"}}, "ok")]:
        assert restricted.ask("gauth", cred="owner", **body)["s"] == "ok"
        assert restricted.ask("p", p="/a", d=2)["s"] == answer
    with pytest.raises(InvalidStatus):
        connect(f"ws://{server.address}/.ws?v=5&ns=restricted&auth_variable_override=null")
    assert client.ask("gauth", cred="owner")["s"] == "ok"
    assert client.ask("auth", cred="nonsense")["s"] == "invalid_token"
    assert client.ask("auth", cred="eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.")["s"] == "ok"
    assert client.ask("unauth")["s"] == "ok"
    assert client.ask("appcheck", token="x")["s"] == "ok"


def test_what_is_wrong_is_answered_and_ends_no_other_session(server):
    other = Client(server)
    client = Client(server)
    assert client.ask("p", p="/a#b", d=1)["s"] != "ok"
    assert client.ask("p", p="/.info/x", d=1)["s"] != "ok"
    assert client.ask("zzz", p="/")["s"] != "ok"
    assert client.ask("q", p="/x", q={"i": 7}, t=1, h="")["s"] != "ok"
    client.socket.send("0")
    client.socket.send(b"binary is ignored")
    client.socket.ping()
    assert client.ask("p", p="/ok", d=1)["s"] == "ok"
    seed = int(os.environ.get("LARDER_TEST_SEED", random.randrange(2**32)))
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(100):
        noisy = Client(server)
        text = json.dumps({"t": "d", "d": {
            "r": chance.choice([1, -1, 2**70, "x", None]),
            "a": chance.choice(["q", "p", "m", "o", "om", "oc", "n", "g", "auth", "s", 7]),
            "b": chance.choice([{}, [], None, {"p": 1}, {"p": "/a", "d": {".sv": "x"}},
                                {"p": "/a", "d": {".value": {}}}, {"p": "/a/" * 500, "d": 1}])}})
        noisy.socket.send(text[:chance.randrange(len(text) + 1)] or "x")
        noisy.close()
    assert other.ask("p", p="/ok", d=2)["s"] == "ok"


def test_a_stopped_server_writes_what_was_left(start_server, tmp_path):
    server = start_server("--data", str(tmp_path))
    client = Client(server)
    client.ask("o", p="/status", d="offline")
    client.ask("p", p="/status", d="online")
    assert server.stop() == 0
    with pytest.raises(ConnectionClosed):
        while True:
            client.socket.recv(timeout=SECONDS)
    server = start_server("--data", str(tmp_path))
    assert Client(server).ask("g", p="/status", q={})["d"] == "offline"


def increment(path):
    return {"p": path, "d": {".sv": {"increment": 1}}}


def value(server, namespace, path):
    with urllib.request.urlopen(
            f"http://{server.address}/{path}.json?ns={namespace}", timeout=SECONDS) as answer:
        return json.load(answer)


def test_a_killed_server_writes_what_was_left_once(start_server, tmp_path):
    """Sessions register while others write; what was acknowledged runs once, wherever the kill falls."""
    for round in range(3):
        server = start_server("--data", str(tmp_path))
        acknowledged, cancelled = set(), set()
        stopping = threading.Event()

        def presence(thread):
            name = f"{round}-{thread}"
            try:
                client = Client(server, namespace=f"kill{thread % 2}")
                for number in range(10_000):
                    path = f"/left/{name}-{number}"
                    if client.ask("o", **increment(path))["s"] != "ok":
                        return
                    if number % 3 == 2 and client.ask("oc", p=path, d=None)["s"] == "ok":
                        cancelled.add(path)
                    else:
                        acknowledged.add((thread % 2, path))
                    client.ask("p", p=f"/load/{name}", d=number)
                    if len(acknowledged) > 200:
                        stopping.set()
            except (ConnectionClosed, OSError):
                pass

        threads = [threading.Thread(target=presence, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        assert stopping.wait(SECONDS)
        server.kill()
        for thread in threads:
            thread.join(SECONDS)

        # No client comes: the start alone makes them.
        server = start_server("--data", str(tmp_path))
        markers = [tmp_path / ".realtime" / f"kill{n}" / "open" for n in range(2)]
        deadline = time.monotonic() + SECONDS
        while any(marker.exists() for marker in markers):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        server.kill()
        server = start_server("--data", str(tmp_path))
        left = [value(server, f"kill{n}", "left") for n in range(2)]
        for namespace, path in acknowledged:
            assert left[namespace][path.rpartition("/")[2]] == 1
        for path in cancelled:
            assert all(path.rpartition("/")[2] not in tree for tree in left)
        assert {count for tree in left for count in tree.values()} == {1}
        server.stop()


def test_writes_that_are_sent_again_after_a_kill_count_once(start_server, tmp_path):
    """Increments are sent without waiting; the server is killed; all of them are sent again."""
    expected = 0
    for round in range(5):
        server = start_server("--data", str(tmp_path))
        client = Client(server, namespace="once")
        writes = [{**increment("/n"), "once": {"c": "python", "w": f"{round}-{number}"}}
                  for number in range(300)]
        for write in writes:
            client.send("p", **write)
        # Some are answered, some are made and not answered, some have not arrived.
        for _ in range(20 + 50 * round):
            client.receive()
        server.kill()
        server = start_server("--data", str(tmp_path))
        expected += len(writes)
        for attempt in range(2):
            client = Client(server, namespace="once")
            for write in writes:
                assert client.ask("p", **write)["s"] == "ok"
            assert value(server, "once", "n") == expected
        server.kill()


def test_writes_are_not_named_by_anything(server):
    client = Client(server)
    for once in [1, {}, {"c": "a", "w": 1}, {"c": "a/b", "w": "1"}, {"c": "a", "w": "x" * 65}]:
        assert client.ask("p", **{**increment("/odd"), "once": once})["s"] == "failed"
    assert client.ask("p", **increment("/odd"))["s"] == "ok"


LOCAL_PAGES = ["http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]"]
FOREIGN_PAGES = ["https://evil.example", "http://localhost.evil.example", "null"]


def web_socket_status(server, origin):
    """The status of a handshake from a page."""
    try:
        connect(f"ws://{server.address}/.ws?v=5&ns=pages", origin=origin).close()
        return 101
    except InvalidStatus as error:
        return error.response.status_code


def event_stream_status(server, origin):
    connection = http.client.HTTPConnection(server.address, timeout=SECONDS)
    headers = {"Accept": "text/event-stream", "Origin": origin}
    connection.request("GET", "/a.json?ns=pages", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_pages_of_this_machine_and_allowed_ones_may_listen(start_server):
    """A browser names the page in Origin; scripts of other pages are refused, also over WebSockets,
    for which browsers ask no permission."""
    server = start_server(
        "--memory", "--allow-origin", "https://app.example",
        "--allow-origin", "https://*.shop.example")
    allowed = [*LOCAL_PAGES, "https://app.example", "https://a.shop.example"]
    for ask, accepted in [(web_socket_status, 101), (event_stream_status, 200)]:
        for origin in allowed:
            assert ask(server, origin) == accepted, origin
        for origin in [*FOREIGN_PAGES, "http://app.example", "https://shop.example"]:
            assert ask(server, origin) == 403, origin

"""Realtime Databases with Google's admin library: REST, transactions by tags, queries, listeners over
event streams, and rules."""

import itertools
import json
import threading
import time
import urllib.error
import urllib.request

import firebase_admin
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from firebase_admin import db, exceptions

SECONDS = 60
RULES = """{
  // Scores are open, everything else is closed.
  "rules": {
    "open": {".read": true, ".write": true,
      "scores": {".indexOn": ["points", ".value"]},
      "ages": {"$name": {".validate": "newData.isNumber() && newData.val() >= 0"}}},
    "own": {"$user": {".read": "auth.uid === $user", ".write": "auth.uid === $user"}}
  }
}"""
names = itertools.count(1)


@pytest.fixture(scope="module")
def server(start_server, tmp_path_factory):
    rules = tmp_path_factory.mktemp("rules") / "rules.json"
    rules.write_text(RULES)
    data = tmp_path_factory.mktemp("data")
    return start_server("--data", str(data), "--rules", f"ruled={rules}")


def open_app(server, namespace, **options):
    return firebase_admin.initialize_app(
        options={"databaseURL": f"http://{server.address}/?ns={namespace}", **options},
        name=f"app{next(names)}")


@pytest.fixture(scope="module")
def app(server):
    app = open_app(server, "interop")
    yield app
    firebase_admin.delete_app(app)


@pytest.fixture
def place(app):
    """A location that no other test has."""
    return db.reference(f"t{next(names)}", app=app)


# ---- Reading and writing -------------------------------------------------------------------------

@pytest.mark.parametrize("value", [
    1, -2.5, 2**53, True, "ü\n\"\\\u2028😀", {"a": {"b": [1, 2, 3]}}, {"1": "x", "01": "y"},
    [None, 1, {"x": None, "y": False}], ""])
def test_set_and_get(place, value):
    place.set(value)
    expected = {
        "[None, 1, {'x': None, 'y': False}]": [None, 1, {"y": False}]}.get(str(value), value)
    assert place.get() == expected


def test_characters_of_all_planes(place):
    """The library's requests have them escaped, its queries as they are."""
    points = [0xa1, 0xffff] + [plane << 16 | low for plane in range(1, 17) for low in (0, 0xbb7)]
    for character in map(chr, points):
        place.set({character: f"{character}\\ud842\\udfb7"})
        assert place.get() == {character: f"{character}\\ud842\\udfb7"}
        assert list(place.order_by_key().equal_to(character).get()) == [character]
        place.update({f"{character}/{character}": character})
        assert place.order_by_child(character).equal_to(character).get() == {
            character: {character: character}}


def test_push_update_and_delete(place):
    first = place.push("one")
    second = place.push({"n": 2})
    assert first.key < second.key
    assert place.get() == {first.key: "one", second.key: {"n": 2}}
    place.update({f"{second.key}/n": 3, "other": True})
    assert place.child(second.key).get() == {"n": 3}
    first.delete()
    assert first.get() is None and place.child("other").get() is True
    with pytest.raises(exceptions.InvalidArgumentError):
        place.update({"a": 1, "a/b": 2})


def test_shallow(place):
    place.set({"a": {"b": 1}, "c": 2})
    assert place.get(shallow=True) == {"a": True, "c": True}


def test_server_values(place):
    place.set({"n": 1, "time": {".sv": "timestamp"}})
    place.child("n").set({".sv": {"increment": 4}})
    assert place.child("n").get() == 5
    assert place.child("time").get() > 1_500_000_000_000


def test_tags(place):
    value, tag = place.get(etag=True)
    assert (value, tag) == (None, "null_etag")
    assert place.get_if_changed(tag) == (False, None, None)
    place.set("x")
    changed, value, tag = place.get_if_changed(tag)
    assert changed and value == "x"
    done, value, _ = place.set_if_unchanged(tag, "y")
    assert done and value == "y"
    done, value, current = place.set_if_unchanged(tag, "z")
    assert (done, value) == (False, "y") and current != tag


def test_transactions_of_many_threads(place):
    def add():
        for _ in range(5):
            place.transaction(lambda present: (present or 0) + 1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert place.get() == 20


def test_namespaces_are_apart(server, place):
    place.set(1)
    other = open_app(server, "interop2")
    assert db.reference(place.path, app=other).get() is None
    firebase_admin.delete_app(other)


# ---- Queries -------------------------------------------------------------------------------------

def test_queries(place):
    place.set({name: {"points": points} for name, points in
               [("ada", 3), ("bob", 1), ("cyd", 7), ("dee", 5)]})

    def by_points():
        # A query keeps what is added to it.
        return place.order_by_child("points")

    assert list(by_points().get()) == ["bob", "ada", "dee", "cyd"]
    assert list(by_points().limit_to_last(2).get()) == ["dee", "cyd"]
    assert list(by_points().start_at(3).end_at(5).get()) == ["ada", "dee"]
    assert list(by_points().equal_to(7).get()) == ["cyd"]
    assert list(place.order_by_key().start_at("b").limit_to_first(2).get()) == ["bob", "cyd"]
    values = place.child("values")
    values.set({"x": 2, "y": 1, "z": "s"})
    assert list(values.order_by_value().get()) == ["y", "x", "z"]


# ---- Listeners -----------------------------------------------------------------------------------

class Events:
    """What a listener receives."""

    def __init__(self):
        self.items = []
        self.changed = threading.Condition()

    def __call__(self, event):
        with self.changed:
            self.items.append((event.event_type, event.path, event.data))
            self.changed.notify_all()

    def wait(self, *items):
        with self.changed:
            assert self.changed.wait_for(
                lambda: all(item in self.items for item in items), SECONDS), self.items


def test_listener(place):
    place.set({"a": 1})
    events = Events()
    listener = place.listen(events)
    try:
        events.wait(("put", "/", {"a": 1}))
        place.child("b").set(2)
        place.update({"a": None, "c/d": 3})
        events.wait(("put", "/b", 2), ("patch", "/", {"a": None, "c/d": 3}))
    finally:
        listener.close()


def test_listener_goes_on_after_a_restart(start_server, reserved_port, tmp_path, monkeypatch):
    server = start_server("--data", str(tmp_path), port=reserved_port)
    app = open_app(server, "again")
    place = db.reference("x", app=app)
    place.set(1)
    events = Events()
    listener = place.listen(events)
    try:
        events.wait(("put", "/", 1))
        assert server.stop() == 0
        server = start_server("--data", str(tmp_path), port=reserved_port)
        place.set(2)
        events.wait(("put", "/", 2))
    finally:
        listener.close()
        firebase_admin.delete_app(app)


# ---- Rules ---------------------------------------------------------------------------------------

def test_rules_for_users(server):
    user = open_app(server, "ruled", databaseAuthVariableOverride={"uid": "ada"})
    nobody = open_app(server, "ruled", databaseAuthVariableOverride=None)
    owner = open_app(server, "ruled")
    db.reference("own/ada", app=user).set("mine")
    assert db.reference("own/ada", app=owner).get() == "mine"
    for path, app in [("own/bob", user), ("own/ada", nobody), ("", user)]:
        with pytest.raises(exceptions.UnauthenticatedError):
            db.reference(path, app=app).get()
        with pytest.raises(exceptions.UnauthenticatedError):
            db.reference(path, app=app).set(1)
    ages = db.reference("open/ages", app=nobody)
    ages.update({"ada": 36})
    with pytest.raises(exceptions.UnauthenticatedError):
        ages.update({"bob": 7, "cyd": -1})
    assert ages.get() == {"ada": 36}
    scores = db.reference("open/scores", app=nobody)
    scores.set({"a": {"points": 2}, "b": {"points": 1}})
    assert list(scores.order_by_child("points").get()) == ["b", "a"]
    with pytest.raises(exceptions.InvalidArgumentError, match="Index not defined"):
        scores.order_by_child("other").get()
    for app in [user, nobody, owner]:
        firebase_admin.delete_app(app)


def ask(server, method, target, body=None, headers={}):
    request = urllib.request.Request(
        f"http://{server.address}{target}", method=method, headers=headers,
        data=None if body is None else body.encode())
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_rules_are_replaced(server):
    owner = {"Authorization": "Bearer owner"}
    path = "/.settings/rules.json?ns=replaced"
    assert ask(server, "GET", "/a.json?ns=replaced") == (200, "null")
    assert ask(server, "PUT", path, '{"rules": {".read": "auth != null"}}', owner)[0] == 200
    assert ask(server, "GET", "/a.json?ns=replaced")[0] == 401
    status, body = ask(server, "PUT", path, '{"rules": {".read": "auth !="}}', owner)
    assert status == 400 and "line" in json.loads(body)["error"].lower()
    assert ask(server, "PUT", path, '{"rules": {}}')[0] == 401


def test_requests_that_are_wrong(server):
    assert ask(server, "PUT", "/a.json?ns=w", "{")[0] == 400
    assert ask(server, "PUT", "/a%23b.json?ns=w", "1")[0] == 400
    assert ask(server, "GET", "/a.json?ns=w&orderBy=x")[0] == 400
    assert ask(server, "GET", "/a?ns=w")[0] == 404
    assert ask(server, "PUT", "/a.json?ns=" + "n" * 300, "1")[0] == 400
    assert ask(server, "GET", "/.lp?ns=w")[0] == 501
    assert ask(server, "GET", "/.ws?ns=w&v=5")[0] == 426
    pretty = ask(server, "GET", "/a.json?ns=w&print=pretty")
    assert pretty == (200, "null")


def test_the_token_is_the_secret(start_server):
    server = start_server("--memory", "--token", "secret")
    assert ask(server, "GET", "/a.json?ns=t")[0] == 401
    assert ask(server, "GET", "/a.json?ns=t&auth=owner")[0] == 401
    assert ask(server, "PUT", "/a.json?ns=t&auth=secret", "1") == (200, "1")
    bearer = {"Authorization": "Bearer secret"}
    assert ask(server, "GET", "/a.json?ns=t", headers=bearer) == (200, "1")
    status, metrics = ask(server, "GET", "/metrics", headers=bearer)
    assert status == 200 and "larder_realtime_namespaces 1" in metrics
    assert 'larder_realtime_requests{method="GET",status="401"} 2' in metrics


@pytest.fixture
def signers(tmp_path):
    """Two keys, and the options of a server that knows them: a certificate of Google's kind, a set."""
    google = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    own = ec.generate_private_key(ec.SECP256R1())
    pem = google.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "google.json").write_text(json.dumps({"g1": pem.decode()}))
    jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(own.public_key()))
    (tmp_path / "own.json").write_text(json.dumps({"keys": [{**jwk, "kid": "o1"}]}))
    options = ["--auth-keys", str(tmp_path / "google.json"), "--auth-project", "shop",
               "--auth-keys", str(tmp_path / "own.json")]

    def id_token(project="shop", seconds=3600, **claims):
        now = int(time.time())
        issuer = f"https://securetoken.google.com/{project}"
        return jwt.encode(
            {"iss": issuer, "aud": project, "sub": "ada", "user_id": "ada", "iat": now,
             "exp": now + seconds, "firebase": {"sign_in_provider": "password"}, **claims},
            google, algorithm="RS256", headers={"kid": "g1"})

    def custom_token(uid, **claims):
        now = int(time.time())
        return jwt.encode(
            {"iss": "me", "sub": "me", "uid": uid, "claims": claims, "exp": now + 60}, own,
            algorithm="ES256", headers={"kid": "o1"})

    return options, id_token, custom_token


def test_signed_tokens(start_server, signers, tmp_path):
    options, id_token, custom_token = signers
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": {
        "users": {"$uid": {".read": "auth.uid === $uid", ".write": "auth.uid === $uid"}},
        "passwords": {".read": "auth.provider === 'password'"},
        "editors": {".read": "auth.token.role === 'editor'"}}}))
    server = start_server("--memory", "--token", "secret", "--rules", str(rules), *options)
    ada, editor = id_token(), custom_token("eve", role="editor")
    target = "/users/ada.json?ns=signed"
    assert ask(server, "PUT", f"{target}&auth={ada}", "1") == (200, "1")
    assert ask(server, "GET", f"{target}&access_token={ada}") == (200, "1")
    assert ask(server, "GET", target, headers={"Authorization": f"Bearer {ada}"}) == (200, "1")
    assert ask(server, "GET", f"{target}&auth={editor}")[0] == 401
    assert ask(server, "GET", f"/passwords.json?ns=signed&auth={ada}")[0] == 200
    assert ask(server, "GET", f"/passwords.json?ns=signed&auth={editor}")[0] == 401
    assert ask(server, "GET", f"/editors.json?ns=signed&auth={editor}")[0] == 200
    assert ask(server, "GET", f"{target}&auth=secret") == (200, "1")
    unsigned = jwt.encode({"sub": "ada", "exp": int(time.time()) + 60}, "", algorithm="none")
    for token in [id_token(project="other"), id_token(seconds=-1), unsigned, "owner",
                  ada[:-4] + "AAAA", id_token(exp=None)]:
        assert ask(server, "GET", f"{target}&auth={token}")[0] == 401


def test_a_stream_ends_with_its_token(start_server, signers):
    options, id_token, _ = signers
    server = start_server("--memory", "--token", "secret", *options)
    rules = json.dumps({"rules": {".read": "auth != null"}})
    ask(server, "PUT", "/.settings/rules.json?ns=ends&auth=secret", rules)
    request = urllib.request.Request(
        f"http://{server.address}/a.json?ns=ends&auth={id_token(seconds=3)}",
        headers={"Accept": "text/event-stream"})
    with urllib.request.urlopen(request, timeout=SECONDS) as stream:
        text = stream.read().decode()
    assert text.startswith("event: put\n")
    assert text.endswith('event: auth_revoked\ndata: "credential is no longer valid"\n\n')


def test_import_and_export(start_server, tmp_path):
    fixtures, out = tmp_path / "in", tmp_path / "out"
    fixtures.mkdir()
    tree = {"a": {".value": 1, ".priority": 2}, "list": {"0": "é", "5": 1.5}}
    (fixtures / "shop.json").write_text(json.dumps(tree))
    server = start_server("--memory", "--import", str(fixtures), "--export-on-exit", str(out))
    assert ask(server, "GET", "/a.json?ns=shop") == (200, "1")
    assert ask(server, "PUT", "/b.json?ns=other", "true")[0] == 200
    assert server.stop() == 0
    exported = {path.stem: json.loads(path.read_text())
                for path in (out / "database_export").iterdir()}
    assert exported == {"shop": tree, "other": {"b": True}}
    again = start_server("--memory", "--import", str(out))
    assert json.loads(ask(again, "GET", "/.json?ns=shop&format=export")[1]) == tree
    (fixtures / "bad.json").write_text('{"a":\n}')
    with pytest.raises(RuntimeError, match="bad.json, line 2, column 1"):
        start_server("--memory", "--import", str(fixtures))

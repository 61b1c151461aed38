"""Listeners: their events, the order of those, and that a restart of the server loses nothing."""

import queue

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

SECONDS = 60


class Heard:
    """Snapshots of a listener, one after the other."""

    def __init__(self, source):
        self.snapshots = queue.Queue()
        self.watch = source.on_snapshot(self.hear)

    def hear(self, documents, changes, time):
        self.snapshots.put((
            [d.id for d in documents if d.exists],
            [(c.type.name, c.document.id) for c in changes],
            {d.id: d.to_dict() for d in documents}))

    def next(self):
        return self.snapshots.get(timeout=SECONDS)

    def until(self, condition):
        """The first snapshot that a condition holds for."""
        while True:
            snapshot = self.next()
            if condition(snapshot):
                return snapshot

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watch.unsubscribe()


def test_a_listener_hears_what_is_there_first(collection):
    collection.document("a").set({"n": 1})
    with Heard(collection) as heard:
        documents, changes, values = heard.next()
    assert documents == ["a"]
    assert changes == [("ADDED", "a")]
    assert values == {"a": {"n": 1}}


def test_a_listener_of_nothing_hears_of_nothing(collection):
    with Heard(collection) as heard:
        assert heard.next()[:2] == ([], [])


def test_added_modified_removed(collection):
    with Heard(collection) as heard:
        heard.next()
        collection.document("a").set({"n": 1})
        assert heard.next()[:2] == (["a"], [("ADDED", "a")])
        collection.document("a").update({"n": 2})
        assert heard.next()[1:] == ([("MODIFIED", "a")], {"a": {"n": 2}})
        collection.document("a").delete()
        assert heard.next()[:2] == ([], [("REMOVED", "a")])


def test_a_document_leaves_a_query_without_being_deleted(collection):
    document = collection.document("a")
    document.set({"n": 1})
    with Heard(collection.where(filter=FieldFilter("n", "==", 1))) as heard:
        assert heard.next()[0] == ["a"]
        document.update({"n": 2})
        assert heard.next()[:2] == ([], [("REMOVED", "a")])
        document.update({"n": 1})
        assert heard.next()[:2] == (["a"], [("ADDED", "a")])


def test_a_listener_with_an_order_and_a_limit(client, collection):
    for number in range(5):
        collection.document(f"d{number}").set({"n": number})
    with Heard(collection.order_by("n", direction="DESCENDING").limit(2)) as heard:
        assert set(heard.next()[0]) == {"d4", "d3"}
        collection.document("d5").set({"n": 5})
        assert heard.until(lambda s: set(s[0]) == {"d5", "d4"})
        collection.document("d4").delete()
        assert heard.until(lambda s: set(s[0]) == {"d5", "d3"})


def test_a_listener_of_some_fields(collection):
    collection.document("a").set({"n": 1, "m": {"x": 1, "y": 2}, "other": "x" * 100})
    query = collection.where(filter=FieldFilter("other", ">", "")).select(["n", "m.y", "none"])
    with Heard(query) as some, Heard(collection.select([])) as none, Heard(collection) as all:
        assert some.next()[2] == {"a": {"n": 1, "m": {"y": 2}}}
        assert none.next()[2] == {"a": {}}
        assert all.next()[2]["a"]["m"] == {"x": 1, "y": 2}
        collection.document("a").update({"m.y": 3})
        assert some.until(lambda s: s[2]["a"]["m"]["y"] == 3)[1] == [("MODIFIED", "a")]
        collection.document("a").delete()
        assert some.until(lambda s: not s[0])[1] == [("REMOVED", "a")]
        none.until(lambda s: not s[0])


def test_a_listener_of_one_document(collection):
    document = collection.document("a")
    with Heard(document) as heard:
        assert heard.next()[0] == []
        document.set({"n": 1})
        assert heard.next()[0] == ["a"]
        document.delete()
        assert heard.next()[0] == []


def test_a_commit_is_one_snapshot(client, collection):
    with Heard(collection) as heard:
        heard.next()
        batch = client.batch()
        for number in range(100):
            batch.set(collection.document(f"d{number:03}"), {"n": number})
        batch.commit()
        documents, changes, _ = heard.next()
        assert len(documents) == len(changes) == 100


def test_a_collection_group_is_heard(client, collection):
    group = f"group_{collection.id}"
    with Heard(client.collection_group(group)) as heard:
        heard.next()
        collection.document("p").collection(group).document("x").set({})
        assert heard.next()[0] == ["x"]


def test_many_listeners_hear_the_same(collection):
    listeners = [Heard(collection) for _ in range(20)]
    try:
        for heard in listeners:
            heard.next()
        collection.document("a").set({"n": 1})
        for heard in listeners:
            assert heard.next()[:2] == (["a"], [("ADDED", "a")])
    finally:
        for heard in listeners:
            heard.watch.unsubscribe()


def test_every_last_state_is_heard(collection):
    """However fast changes come, the last one is delivered."""
    with Heard(collection) as heard:
        heard.next()
        for number in range(200):
            collection.document("a").set({"n": number})
        heard.until(lambda s: s[2].get("a") == {"n": 199})


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_listener_goes_on_after_the_server_restarts(
        start_server, reserved_port, tmp_path, monkeypatch, end):
    server = start_server("--data", str(tmp_path), port=reserved_port)
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.address)
    client = firestore.Client(project="restart", credentials=AnonymousCredentials())
    collection = client.collection("things")
    for name in ["a", "b", "c"]:
        collection.document(name).set({"n": 1})
    with Heard(collection) as heard:
        assert heard.next()[0] == ["a", "b", "c"]
        getattr(server, end)()
        server = start_server("--data", str(tmp_path), port=reserved_port)
        # Another client changes things: the listener may not have come back yet.
        other = firestore.Client(project="restart", credentials=AnonymousCredentials())
        batch = other.batch()
        batch.set(other.document("things/d"), {"n": 1})
        batch.update(other.document("things/a"), {"n": 2})
        batch.delete(other.document("things/b"))
        batch.commit()
        documents, _, values = heard.until(lambda s: s[0] == ["a", "c", "d"])
        assert values["a"] == {"n": 2}
    assert server.stop() == 0

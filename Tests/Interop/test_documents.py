"""Documents one at a time and in batches, as the client library asks for them."""

import datetime

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.vector import Vector


def test_set_then_get(collection):
    document = collection.document("a")
    result = document.set({"name": "Wellington", "population": 216_000})
    snapshot = document.get()
    assert snapshot.exists
    assert snapshot.to_dict() == {"name": "Wellington", "population": 216_000}
    assert snapshot.update_time == result.update_time
    assert snapshot.create_time == result.update_time
    assert snapshot.read_time >= snapshot.update_time


def test_every_type_comes_back(client, collection):
    value = {
        "null": None,
        "true": True,
        "integer": -(2**63),
        "large": 2**63 - 1,
        "double": 0.1,
        "infinite": float("-inf"),
        "text": "héllo \N{GRINNING FACE}",
        "empty": "",
        "bytes": b"\x00\xff",
        "time": datetime.datetime(2026, 11, 21, 1, 2, 3, 456_789, tzinfo=datetime.timezone.utc),
        "place": firestore.GeoPoint(-41.28, 174.77),
        "reference": client.document("other/thing"),
        "list": [1, "two", {"three": [3]}],
        "map": {"deep": {"deeper": {"deepest": 1}}},
        "nothing": {},
        "vector": Vector([1.0, -2.5, 0.0]),
    }
    collection.document("a").set(value)
    assert collection.document("a").get().to_dict() == value


def test_not_a_number_comes_back(collection):
    collection.document("a").set({"x": float("nan")})
    got = collection.document("a").get().get("x")
    assert got != got


def test_names_of_fields_need_no_rules(collection):
    value = {"a.b": 1, "with space": 2, "`tick`": 3, "back\\slash": 4, "ünïcode": 5, "0": 6}
    collection.document("a").set(value)
    assert collection.document("a").get().to_dict() == value
    collection.document("a").update({"`a.b`": 10})
    assert collection.document("a").get().to_dict()["a.b"] == 10


def test_get_of_what_is_not_there(collection):
    snapshot = collection.document("nothing").get()
    assert not snapshot.exists
    assert snapshot.to_dict() is None
    assert snapshot.read_time is not None


def test_get_of_some_fields(collection):
    document = collection.document("a")
    document.set({"x": 1, "y": {"z": 2, "w": 3}, "v": 4})
    assert document.get(field_paths=["x", "y.z"]).to_dict() == {"x": 1, "y": {"z": 2}}


def test_create_of_what_exists_is_refused(collection):
    document = collection.document("a")
    document.create({"x": 1})
    with pytest.raises(exceptions.AlreadyExists, match="Document already exists: projects/"):
        document.create({"x": 2})
    assert document.get().to_dict() == {"x": 1}


def test_add_makes_up_an_id(collection):
    time, document = collection.add({"x": 1})
    assert len(document.id) == 20
    assert document.get().update_time == time


def test_update_of_what_is_not_there_is_refused(collection):
    with pytest.raises(exceptions.NotFound, match="No document to update: projects/"):
        collection.document("nothing").update({"x": 1})


def test_update_of_nested_fields(collection):
    document = collection.document("a")
    document.set({"x": {"y": 1, "z": 2}, "w": 3})
    document.update({"x.y": 10, "w": firestore.DELETE_FIELD})
    assert document.get().to_dict() == {"x": {"y": 10, "z": 2}}


def test_set_with_merge(collection):
    document = collection.document("a")
    document.set({"x": {"y": 1}, "w": 3})
    document.set({"x": {"z": 2}}, merge=True)
    document.set({"w": 4, "v": 5}, merge=["w"])
    assert document.get().to_dict() == {"x": {"y": 1, "z": 2}, "w": 4}


def test_set_with_merge_makes_a_document(collection):
    collection.document("a").set({"x": 1}, merge=True)
    assert collection.document("a").get().to_dict() == {"x": 1}


def test_update_with_the_time_of_the_last_one(client, collection):
    document = collection.document("a")
    first = document.set({"x": 1})
    option = client.write_option(last_update_time=first.update_time)
    second = document.update({"x": 2}, option=option)
    assert second.update_time > first.update_time
    with pytest.raises(exceptions.FailedPrecondition, match="required base version"):
        document.update({"x": 3}, option=option)
    assert document.get().to_dict() == {"x": 2}


def test_a_write_that_changes_nothing_keeps_the_time(collection):
    document = collection.document("a")
    first = document.set({"x": 1})
    document.set({"x": 1})
    assert document.get().update_time >= first.update_time
    assert document.get().create_time == first.update_time


def test_delete(client, collection):
    document = collection.document("a")
    document.set({"x": 1})
    document.delete()
    assert not document.get().exists
    document.delete()
    with pytest.raises(exceptions.NotFound):
        document.delete(option=client.write_option(exists=True))


def test_delete_with_the_time_of_the_last_update(client, collection):
    document = collection.document("a")
    first = document.set({"x": 1})
    document.update({"x": 2})
    with pytest.raises(exceptions.FailedPrecondition):
        document.delete(option=client.write_option(last_update_time=first.update_time))
    assert document.get().exists


def test_create_time_is_new_after_a_delete(collection):
    document = collection.document("a")
    first = document.set({"x": 1})
    document.delete()
    document.set({"x": 1})
    assert document.get().create_time > first.update_time


def test_transforms(collection):
    document = collection.document("a")
    document.set({"n": 1, "f": 1.5, "list": [1, 2], "low": 5, "high": 5})
    result = document.update(
        {
            "n": firestore.Increment(2),
            "f": firestore.Increment(1),
            "new": firestore.Increment(7),
            "list": firestore.ArrayUnion([2, 3]),
            "low": firestore.Minimum(3),
            "high": firestore.Maximum(9),
            "time": firestore.SERVER_TIMESTAMP,
        }
    )
    got = document.get().to_dict()
    time = got.pop("time")
    assert got == {"n": 3, "f": 2.5, "new": 7, "list": [1, 2, 3], "low": 3, "high": 9}
    assert abs(time - result.update_time) <= datetime.timedelta(milliseconds=1)
    document.update({"list": firestore.ArrayRemove([1, 3])})
    assert document.get().get("list") == [2]


def test_results_of_transforms(client, collection):
    document = collection.document("a")
    batch = client.batch()
    batch.set(document, {"n": 40})
    batch.update(document, {"n": firestore.Increment(2)})
    results = batch.commit()
    assert len(results) == 2
    assert results[1].transform_results[0].integer_value == 42


def test_get_all_keeps_nothing_back(client, collection):
    documents = [collection.document(f"d{number}") for number in range(5)]
    for number, document in enumerate(documents[:3]):
        document.set({"n": number, "m": 0})
    found = {s.id: s for s in client.get_all(documents, field_paths=["n"])}
    assert {i: s.exists for i, s in found.items()} == {
        "d0": True, "d1": True, "d2": True, "d3": False, "d4": False}
    assert found["d1"].to_dict() == {"n": 1}
    assert len({s.read_time for s in found.values()}) == 1


def test_get_all_of_nothing(client):
    assert list(client.get_all([])) == []


def test_a_batch_is_made_together(client, collection):
    collection.document("there").set({"x": 1})
    batch = client.batch()
    batch.set(collection.document("a"), {"x": 1})
    batch.create(collection.document("there"), {"x": 2})
    with pytest.raises(exceptions.AlreadyExists):
        batch.commit()
    assert not collection.document("a").get().exists
    assert collection.document("there").get().to_dict() == {"x": 1}


def test_writes_of_a_batch_see_those_before(client, collection):
    document = collection.document("a")
    batch = client.batch()
    batch.create(document, {"x": 1})
    batch.update(document, {"y": 2})
    batch.delete(document)
    batch.set(document, {"z": 3})
    results = batch.commit()
    assert len(results) == 4
    assert document.get().to_dict() == {"z": 3}


def test_ten_thousand_documents_in_a_batch(client, collection):
    batch = client.batch()
    for number in range(10_000):
        batch.set(collection.document(f"d{number:05}"), {"n": number})
    assert len(batch.commit()) == 10_000
    numbers = [snapshot.get("n") for snapshot in collection.order_by("n").stream()]
    assert numbers == list(range(10_000))
    assert collection.count().get()[0][0].value == 10_000


def test_bulk_writer(client, collection):
    writer = client.bulk_writer()
    failures = []
    writer.on_write_error(lambda error, _: failures.append(error.code) or False)
    for number in range(50):
        writer.create(collection.document(f"d{number % 40}"), {"n": number})
    writer.close()
    assert collection.count().get()[0][0].value == 40
    assert failures == [6] * 10


def test_collections_below(client, collection):
    parent = collection.document("a")
    parent.collection("z").document("1").set({})
    parent.collection("b").document("1").set({})
    parent.collection("b").document("1").collection("deep").document("1").set({})
    assert [c.id for c in parent.collections()] == ["b", "z"]
    assert [c.id for c in collection.document("none").collections()] == []
    assert collection.id in [c.id for c in client.collections()]


def test_missing_documents_are_listed(collection):
    collection.document("b").set({"x": 1})
    collection.document("a").collection("below").document("1").set({})
    collection.document("c").collection("below").document("1").collection("d").document("2").set({})
    assert [d.id for d in collection.list_documents()] == ["a", "b", "c"]
    assert [d.id for d in collection.list_documents(page_size=1)] == ["a", "b", "c"]


def test_recursive_delete(client, collection):
    collection.document("a").set({})
    collection.document("a").collection("below").document("1").set({})
    collection.document("b").collection("below").document("1").set({})
    assert client.recursive_delete(collection) == 3
    assert list(collection.list_documents()) == []


def test_databases_and_projects_are_apart(address, collection):
    from google.auth.credentials import AnonymousCredentials

    collection.document("a").set({"x": 1})
    for project, database in [("interop", "second"), ("another", None)]:
        other = firestore.Client(
            project=project, database=database, credentials=AnonymousCredentials())
        document = other.collection(collection.id).document("a")
        assert not document.get().exists
        document.set({"x": project})
        assert document.get().to_dict() == {"x": project}
    assert collection.document("a").get().to_dict() == {"x": 1}


def test_a_document_of_almost_a_mebibyte(collection):
    text = "x" * 1_000_000
    collection.document("a").set({"text": text})
    assert collection.document("a").get().get("text") == text
    with pytest.raises(exceptions.InvalidArgument):
        collection.document("b").set({"text": "x" * 1_100_000})
    assert not collection.document("b").get().exists

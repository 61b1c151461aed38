"""Calls as they are, also those that no client library makes, and requests that are wrong."""

import queue

import pytest
from google.api_core import exceptions
from google.cloud.firestore_v1 import types


@pytest.fixture
def parent(root, collection):
    return f"{root}/{collection.id}"


def integer(number):
    return {"integer_value": number}


def test_create_document(raw, root, collection):
    request = {
        "parent": root, "collection_id": collection.id, "document_id": "a",
        "document": {"fields": {"x": integer(1), "y": integer(2)}},
        "mask": {"field_paths": ["x"]}}
    made = raw.create_document(request)
    assert made.name == f"{root}/{collection.id}/a"
    assert dict(made.fields) == {"x": types.Value(integer_value=1)}
    assert made.create_time == made.update_time
    with pytest.raises(exceptions.AlreadyExists, match="Document already exists"):
        raw.create_document(request)
    other = raw.create_document(
        {"parent": root, "collection_id": collection.id, "document": {}})
    assert len(other.name.rpartition("/")[2]) == 20


def test_get_document(raw, parent, collection):
    collection.document("a").set({"x": 1, "y": 2})
    got = raw.get_document({"name": f"{parent}/a", "mask": {"field_paths": ["y"]}})
    assert dict(got.fields) == {"y": types.Value(integer_value=2)}
    with pytest.raises(exceptions.NotFound):
        raw.get_document({"name": f"{parent}/b"})


def test_update_document(raw, parent):
    name = f"{parent}/a"
    document = {"name": name, "fields": {"x": integer(1), "y": integer(2)}}
    raw.update_document({"document": document})
    got = raw.update_document({
        "document": {"name": name, "fields": {"x": integer(5)}},
        "update_mask": {"field_paths": ["x"]}, "current_document": {"exists": True}})
    assert {k: v.integer_value for k, v in got.fields.items()} == {"x": 5, "y": 2}
    with pytest.raises(exceptions.NotFound):
        raw.update_document({
            "document": {"name": f"{parent}/b"}, "current_document": {"exists": True}})


def test_delete_document(raw, parent, collection):
    collection.document("a").set({})
    raw.delete_document({"name": f"{parent}/a", "current_document": {"exists": True}})
    assert not collection.document("a").get().exists
    with pytest.raises(exceptions.NotFound):
        raw.delete_document({"name": f"{parent}/a", "current_document": {"exists": True}})


def test_list_documents_in_pages(raw, root, collection):
    for number in range(7):
        collection.document(f"d{number}").set({"n": 10 - number})
    listed = raw.list_documents({
        "parent": root, "collection_id": collection.id, "page_size": 3,
        "mask": {"field_paths": ["n"]}})
    pages = [[d.name[-2:] for d in page.documents] for page in listed.pages]
    assert pages == [["d0", "d1", "d2"], ["d3", "d4", "d5"], ["d6"]]
    listed = raw.list_documents({
        "parent": root, "collection_id": collection.id, "page_size": 3, "order_by": "n desc"})
    assert [d.name[-2:] for d in listed] == [f"d{n}" for n in range(7)]
    listed = raw.list_documents({
        "parent": root, "collection_id": collection.id, "page_size": 2, "order_by": "n"})
    assert [d.name[-2:] for d in listed] == [f"d{n}" for n in reversed(range(7))]


def test_list_all_collections(raw, parent, collection):
    for path in ["a", "a/s/x", "a/r/y", "a/r/z", "a/s/x/t/deep", "b/s/x"]:
        collection.document(path).set({"n": 1, "m": 2})
    names = [f"{parent}/a/{path}" for path in ["r/y", "r/z", "s/x"]]
    first = {"parent": f"{parent}/a", "mask": {"field_paths": ["n"]}}
    assert [d.name for d in raw.list_documents(first)] == names
    pages = list(raw.list_documents({**first, "page_size": 2}).pages)
    assert [[d.name for d in page.documents] for page in pages] == [names[:2], names[2:]]
    assert list(pages[0].documents[0].fields) == ["n"] and not pages[1].next_page_token
    assert list(raw.list_documents({"parent": f"{parent}/none"})) == []
    for wrong in [{"show_missing": True}, {"order_by": "n"}, {"order_by": "__name__ desc"}]:
        with pytest.raises(exceptions.InvalidArgument):
            list(raw.list_documents({**first, **wrong}))


def test_list_collection_ids_in_pages(raw, parent, collection):
    for name in ["c", "a", "b"]:
        collection.document("d").collection(name).document("x").set({})
    pages = raw.list_collection_ids({"parent": f"{parent}/d", "page_size": 2}).pages
    assert [list(page.collection_ids) for page in pages] == [["a", "b"], ["c"]]


def test_partitions_in_pages(raw, client, root, collection):
    batch = client.batch()
    for number in range(520):
        batch.set(collection.document(f"d{number:03}"), {})
    batch.commit()
    query = {
        "from_": [{"collection_id": collection.id, "all_descendants": True}],
        "order_by": [{"field": {"field_path": "__name__"}}]}
    answer = raw.partition_query({
        "parent": root, "structured_query": query, "partition_count": 3, "page_size": 2})
    pages = [[p.values[0].reference_value for p in page.partitions] for page in answer.pages]
    assert [len(page) for page in pages] == [2, 1]
    assert sum(pages, []) == sorted(sum(pages, []))


def test_batch_write_tells_of_each(raw, database, parent, collection):
    answer = raw.batch_write({"database": database, "writes": [
        {"update": {"name": f"{parent}/a", "fields": {"x": integer(1)}}},
        {"update": {"name": f"{parent}/b"}, "current_document": {"exists": True}},
        {"update": {"name": f"{parent}/c", "fields": {"x": {"array_value": {"values": [
            {"array_value": {}}]}}}}},
        {"delete": f"{parent}/d"}]})
    assert [status.code for status in answer.status] == [0, 5, 3, 0]
    assert answer.write_results[0].update_time is not None
    assert collection.document("a").get().exists


def test_batch_write_of_one_document_twice(raw, database, parent):
    with pytest.raises(exceptions.InvalidArgument):
        raw.batch_write({"database": database, "writes": [
            {"delete": f"{parent}/a"}, {"delete": f"{parent}/a"}]})


def test_write_stream(raw, database, parent, collection):
    """Each request but the first has the token of the answer before."""
    requests = queue.Queue()
    requests.put({"database": database})
    metadata = [("google-cloud-resource-prefix", database)]
    answers = raw.write(
        requests=(types.WriteRequest(r) for r in iter(requests.get, None)),
        metadata=metadata, timeout=60)
    answers = iter(answers)
    token = next(answers).stream_token
    assert token
    for number in range(5):
        requests.put({"stream_token": token, "writes": [
            {"update": {"name": f"{parent}/d{number}", "fields": {"n": integer(number)}}},
            {"delete": f"{parent}/none"}]})
        answer = next(answers)
        assert len(answer.write_results) == 2 and answer.commit_time is not None
        token = answer.stream_token
    requests.put({"stream_token": token, "writes": [
        {"update": {"name": f"{parent}/none"}, "current_document": {"exists": True}}]})
    with pytest.raises(exceptions.NotFound):
        next(answers)
    requests.put(None)
    assert collection.count().get()[0][0].value == 5


def test_write_stream_ends_with_its_requests(raw, database):
    answers = list(raw.write(requests=iter([types.WriteRequest(database=database)]), timeout=60))
    assert len(answers) == 1


def test_write_stream_without_a_token(raw, database, parent):
    requests = [
        types.WriteRequest(database=database),
        types.WriteRequest(writes=[{"delete": f"{parent}/a"}])]
    with pytest.raises(exceptions.InvalidArgument):
        list(raw.write(requests=iter(requests), timeout=60))


def test_write_stream_answers_what_came_before_a_wrong_write(raw, database, parent, collection):
    """Both writes are on their way at once; the first is applied and delivered."""
    def requests():
        yield types.WriteRequest(database=database)
        token = tokens.get(timeout=60)
        yield types.WriteRequest(stream_token=token, writes=[
            {"update": {"name": f"{parent}/a", "fields": {"n": integer(1)}}}])
        yield types.WriteRequest(stream_token=token, writes=[{"delete": f"{parent}/b/odd"}])

    tokens = queue.Queue()
    metadata = [("google-cloud-resource-prefix", database)]
    answers = iter(raw.write(requests=requests(), metadata=metadata, timeout=60))
    tokens.put(next(answers).stream_token)
    answer = next(answers)
    assert len(answer.write_results) == 1 and answer.commit_time is not None
    with pytest.raises(exceptions.InvalidArgument):
        next(answers)
    assert collection.document("a").get().to_dict() == {"n": 1}


def test_listen_stream_ends_a_target(raw, database, root, collection):
    collection.document("a").set({"n": 1})
    requests = queue.Queue()
    requests.put({"database": database, "add_target": {"target_id": 2, "query": {
        "parent": root, "structured_query": {"from_": [{"collection_id": collection.id}]}}}})
    answers = raw.listen(
        requests=(types.ListenRequest(r) for r in iter(requests.get, None)), timeout=60)
    kinds = []
    for answer in answers:
        change = answer.target_change
        if "document_change" in answer:
            kinds.append("document")
        elif change.target_change_type.name == "CURRENT":
            kinds.append("current")
            requests.put({"database": database, "remove_target": 2})
        elif change.target_change_type.name == "REMOVE":
            kinds.append("removed")
            requests.put(None)
    assert kinds == ["document", "current", "removed"]


def test_a_target_that_is_asked_for_once_ends_itself(raw, database, root, collection):
    collection.document("a").set({"n": 1})
    requests = queue.Queue()
    requests.put({"database": database, "add_target": {
        "target_id": 2, "once": True, "query": {
            "parent": root,
            "structured_query": {"from_": [{"collection_id": collection.id}]}}}})
    kinds = []
    for answer in raw.listen(
            requests=(types.ListenRequest(r) for r in iter(requests.get, None)), timeout=60):
        kinds.append(
            "document" if "document_change" in answer
            else answer.target_change.target_change_type.name)
        if kinds[-1] == "REMOVE":
            requests.put(None)
    assert kinds == ["ADD", "document", "CURRENT", "NO_CHANGE", "REMOVE"]


def test_listen_stream_to_several_documents(raw, database, parent, collection):
    collection.document("a").set({"n": 1})
    names = [f"{parent}/{name}" for name in ["a", "b", "a"]]
    requests = queue.Queue()
    requests.put({"database": database, "add_target": {
        "target_id": 2, "documents": {"documents": names}}})
    answers = raw.listen(
        requests=(types.ListenRequest(r) for r in iter(requests.get, None)), timeout=60)
    heard = []
    for answer in answers:
        kind = answer.target_change.target_change_type.name
        if "document_change" in answer:
            assert list(answer.document_change.target_ids) == [2]
            heard.append(answer.document_change.document.name)
        elif "document_delete" in answer:
            heard.append("no " + answer.document_delete.document)
        elif kind == "CURRENT" and len(heard) == 2:
            collection.document("c").set({"n": 1})
            collection.document("b").set({"n": 1})
        if len(heard) == 3:
            requests.put(None)
            break
    assert set(heard[:2]) == {names[0], "no " + names[1]}
    assert heard[2:] == [names[1]]


@pytest.mark.parametrize("selectors", [[], [{}]])
def test_all_collections_of_one_level(raw, parent, collection, selectors):
    names = [f"d/{name}" for name in ["a/1", "a/2", "b/1"]]
    for name in ["d", *names, "d/a/1/deep/1", "e/a/1"]:
        collection.document(name).set({"n": 1})

    def find(**query):
        request = {"parent": f"{parent}/d", "structured_query": {"from_": selectors, **query}}
        return [r.document.name[len(parent) + 1:] for r in raw.run_query(request) if r.document.name]

    assert find() == names
    assert find(offset=1, limit=1) == names[1:2]
    by_name = [{"field": {"field_path": "__name__"}}]
    start = {"values": [{"reference_value": f"{parent}/d/a/2"}], "before": True}
    assert find(order_by=by_name, start_at=start) == names[1:]


@pytest.mark.parametrize(
    "query, error",
    [
        ({"from_": [{"collection_id": "a"}, {"collection_id": "b"}]}, exceptions.InvalidArgument),
        ({"from_": [], "where": {"field_filter": {
            "field": {"field_path": "a"}, "op": "EQUAL", "value": {"integer_value": 1}}}},
         exceptions.InvalidArgument),
        ({"from_": [], "order_by": [{"field": {"field_path": "a"}}]}, exceptions.InvalidArgument),
        ({"from_": [{"collection_id": "a/b"}]}, exceptions.InvalidArgument),
        ({"from_": [{"collection_id": "c"}], "offset": -1}, exceptions.InvalidArgument),
        ({"from_": [{"collection_id": "c"}], "limit": -1}, exceptions.InvalidArgument),
        ({"from_": [{"collection_id": "c"}], "where": {"field_filter": {
            "field": {"field_path": "a..b"}, "op": "EQUAL", "value": {"integer_value": 1}}}},
         exceptions.InvalidArgument),
        ({"from_": [{"collection_id": "c"}], "where": {"field_filter": {
            "field": {"field_path": "a"}, "op": "IN", "value": {"integer_value": 1}}}},
         exceptions.InvalidArgument),
        ({"from_": [{"collection_id": "c"}], "start_at": {"values": [
            {"integer_value": 1}, {"integer_value": 2}]}}, exceptions.InvalidArgument),
    ],
)
def test_queries_that_are_wrong(raw, root, query, error):
    with pytest.raises(error):
        list(raw.run_query({"parent": root, "structured_query": query}))


@pytest.mark.parametrize("query", [
    {"order_by": [{"field": {"field_path": "a"}}] * 2},
    {"order_by": [{"field": {"field_path": "__name__"}}, {"field": {"field_path": "a"}}]},
    {"start_at": {"values": [{"integer_value": 1}, {"integer_value": 2}]}},
])
def test_a_limit_of_nothing_hides_no_wrong_query(raw, root, query):
    query = {"from_": [{"collection_id": "c"}], "limit": 0, **query}
    with pytest.raises(exceptions.InvalidArgument):
        list(raw.run_query({"parent": root, "structured_query": query}))


def test_cursors_without_values_and_conjunctions_of_nothing(raw, root, collection):
    for name in "ab":
        collection.document(name).set({"n": 1})

    def found(**query):
        query = {"from_": [{"collection_id": collection.id}], **query}
        answers = raw.run_query({"parent": root, "structured_query": query})
        return [a.document.name[-1] for a in answers if a.document.name]

    for order in [[], [{"field": {"field_path": "n"}}]]:
        assert found(order_by=order, start_at={"before": True}) == ["a", "b"]
        assert found(order_by=order, start_at={"before": False, "values": []}) == []
        assert found(order_by=order, end_at={"before": False, "values": []}) == ["a", "b"]
        assert found(order_by=order, end_at={"before": True}) == []
    nothing = {"composite_filter": {"op": "AND"}}
    assert found(where=nothing) == ["a", "b"]
    two = {"unary_filter": {"op": "IS_NULL", "field": {"field_path": "n"}}}
    assert found(where={"composite_filter": {"op": "OR", "filters": [nothing, two]}}) == ["a", "b"]
    for wrong in [{"op": "OR"}, {"op": 0}, {"op": 0, "filters": [two]}]:
        with pytest.raises(exceptions.InvalidArgument):
            found(where={"composite_filter": wrong})


@pytest.mark.parametrize(
    "name",
    ["", "nothing", "projects/p", "projects/p/databases/d/documents",
     "projects/interop/databases/(default)/documents/odd",
     "projects/interop/databases/(default)/documents/a//b",
     "projects/interop/databases/(default)/documents/a/..",
     "projects/interop/databases/(default)/documents/__x__/a",
     "projects/interop/databases/(default)/documents/a/" + "x" * 1_501])
def test_names_that_are_wrong(raw, name):
    with pytest.raises(exceptions.InvalidArgument):
        raw.get_document({"name": name})


def test_writes_that_are_wrong(raw, database, parent):
    name = f"{parent}/a"
    for write in [
        {},
        {"update": {"name": f"{database}/documents/odd"}},
        {"update": {"name": "projects/other/databases/(default)/documents/c/a"}},
        {"update": {"name": name, "fields": {"__x__": integer(1)}}},
        {"update": {"name": name, "fields": {"x": {}}}},
        {"update": {"name": name, "fields": {"x": {"array_value": {"values": [
            {"array_value": {}}]}}}}},
        {"update": {"name": name}, "update_mask": {"field_paths": ["a b"]}},
        {"delete": name, "update_mask": {"field_paths": ["a"]}},
        {"update": {"name": name}, "update_transforms": [{"field_path": "x"}]},
        {"update": {"name": name}, "update_transforms": [
            {"field_path": "x", "increment": {"string_value": "1"}}]},
    ]:
        with pytest.raises(exceptions.InvalidArgument):
            raw.commit({"database": database, "writes": [write]})


def test_values_nested_too_deep(raw, database, parent):
    value = {"integer_value": 1}
    for _ in range(25):
        value = {"map_value": {"fields": {"x": value}}}
    with pytest.raises(exceptions.InvalidArgument):
        raw.commit({"database": database, "writes": [
            {"update": {"name": f"{parent}/a", "fields": {"x": value}}}]})


def test_tokens_that_no_page_had(raw, root, collection):
    with pytest.raises(exceptions.InvalidArgument):
        raw.list_documents({
            "parent": root, "collection_id": collection.id, "page_token": "nonsense"})


def test_transactions_that_nobody_began(raw, database, parent):
    for transaction in [b"x", b"12345678"]:
        with pytest.raises(exceptions.InvalidArgument):
            raw.commit({
                "database": database, "transaction": transaction,
                "writes": [{"delete": f"{parent}/a"}]})


def test_a_read_time_to_come(raw, parent):
    import datetime

    time = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    with pytest.raises(exceptions.InvalidArgument):
        raw.get_document({"name": f"{parent}/a", "read_time": time})


def test_a_target_without_a_number_ends_its_stream(raw, database):
    request = types.ListenRequest(
        {"database": database, "add_target": {"target_id": -1, "documents": {"documents": []}}})
    with pytest.raises(exceptions.InvalidArgument):
        list(raw.listen(requests=iter([request]), timeout=60))


def comparison(field, operator, *numbers):
    value = {"array_value": {"values": [integer(n) for n in numbers]}}
    if operator == "NOT_EQUAL":
        value = integer(numbers[0])
    return {"field_filter": {"field": {"field_path": field}, "op": operator, "value": value}}


def both(*filters):
    return {"composite_filter": {"op": "AND", "filters": filters}}


REFUSED_QUERIES = {
    "a reserved collection": {"from_": [{"collection_id": "__badpath__"}]},
    "a slash": {"from_": [{"collection_id": "a/b"}]},
    "too many values": {"where": comparison("a", "IN", *range(31))},
    "too many disjunctions": {
        "where": both(comparison("a", "IN", *range(6)), comparison("b", "IN", *range(6)))},
    "not-in beside !=": {
        "where": both(comparison("a", "NOT_IN", 1), comparison("a", "NOT_EQUAL", 1))},
    "a long cursor": {"start_at": {"values": [integer(1), integer(2)]}},
}


def listen_beside(raw, database, root, collection, target, code):
    """A target that is refused, before and after one that is not, whose changes are delivered."""
    healthy = {"query": {
        "parent": root, "structured_query": {"from_": [{"collection_id": collection.id}]}}}
    requests = queue.Queue()
    add = lambda number, asked: requests.put(
        {"database": database, "add_target": {"target_id": number, **asked}})
    add(2, healthy)
    answers = iter(raw.listen(
        requests=(types.ListenRequest(r) for r in iter(requests.get, None)),
        metadata=[("google-cloud-resource-prefix", database)], timeout=60))

    def until(wanted):
        """What is said of targets up to a change, which may be of a document."""
        said = []
        for answer in answers:
            change = answer.target_change
            if "document_change" in answer:
                said.append(("document", *answer.document_change.target_ids))
            elif change.target_change_type.name != "NO_CHANGE":
                cause = (change.cause.code,) if change.cause.code else ()
                said.append((change.target_change_type.name, *change.target_ids, *cause))
            if wanted in said:
                return said
        raise AssertionError(f"the stream ended behind {said}")

    until(("CURRENT", 2))
    refused = [("ADD", 4), ("REMOVE", 4, code)]
    add(4, target)
    assert until(refused[1]) == refused
    collection.document("a").set({"n": 1})
    assert all(4 not in said[1:] for said in until(("document", 2)))
    # The number is free, for what is refused and for what is not.
    add(4, target)
    add(4, healthy)
    said = [change for change in until(("CURRENT", 4)) if 4 in change[1:]]
    assert said[:3] == [*refused, ("ADD", 4)]
    requests.put(None)


@pytest.mark.parametrize("name", REFUSED_QUERIES)
def test_a_query_that_is_refused_ends_its_target_alone(raw, database, root, collection, name):
    query = {"from_": [{"collection_id": "c"}], **REFUSED_QUERIES[name]}
    listen_beside(
        raw, database, root, collection,
        {"query": {"parent": root, "structured_query": query}}, 3)


@pytest.mark.parametrize("name", ["", "/a/__badpath__/b/c"])
def test_a_document_that_is_refused_ends_its_target_alone(raw, database, root, collection, name):
    listen_beside(
        raw, database, root, collection, {"documents": {"documents": [root + name]}}, 3)


@pytest.mark.parametrize("query, code", [({"limit": -1}, 3), ({"offset": 1}, 12)])
def test_what_larderd_does_not_listen_to_ends_its_target_alone(
        raw, database, root, collection, query, code):
    query = {"from_": [{"collection_id": "c"}], **query}
    listen_beside(
        raw, database, root, collection,
        {"query": {"parent": root, "structured_query": query}}, code)


def test_a_document_of_another_project_ends_its_target_alone(raw, database, root, collection):
    name = "projects/other/databases/(default)/documents/c/d"
    listen_beside(raw, database, root, collection, {"documents": {"documents": [name]}}, 3)


def test_ten_mebibytes_in_a_request(raw, database, parent):
    def commit(count):
        return raw.commit({"database": database, "writes": [
            {"update": {"name": f"{parent}/d{n}", "fields": {"x": {"string_value": "x" * 900_000}}}}
            for n in range(count)]})

    assert len(commit(11).write_results) == 11
    with pytest.raises(exceptions.InvalidArgument, match="the limit is 11534336"):
        commit(13)
    # The connection, or another one, is served as before.
    assert len(commit(1).write_results) == 1

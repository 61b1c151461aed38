"""Queries and figures over them: every operator, order, cursor and limit."""

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.query_profile import ExplainOptions

CITIES = {
    "akl": {"name": "Auckland", "country": "NZ", "population": 1_500_000, "tags": ["port", "big"]},
    "wlg": {"name": "Wellington", "country": "NZ", "population": 216_000, "tags": ["capital", "port"]},
    "syd": {"name": "Sydney", "country": "AU", "population": 5_300_000, "tags": ["port", "big"]},
    "cbr": {"name": "Canberra", "country": "AU", "population": 450_000, "tags": ["capital"]},
    "hba": {"name": "Hobart", "country": "AU", "population": 250_000},
    "ant": {"name": "McMurdo", "country": None, "population": float("nan"), "tags": []},
}


@pytest.fixture(scope="module")
def cities(client):
    collection = client.collection("cities_of_queries")
    for snapshot in collection.stream():
        snapshot.reference.delete()
    batch = client.batch()
    for key, value in CITIES.items():
        batch.set(collection.document(key), value)
    batch.commit()
    return collection


def ids(query):
    return [snapshot.id for snapshot in query.stream()]


@pytest.mark.parametrize(
    "field, operator, value, expected",
    [
        ("country", "==", "NZ", ["akl", "wlg"]),
        ("country", "!=", "NZ", ["cbr", "hba", "syd"]),
        ("population", "<", 250_000, ["wlg"]),
        ("population", "<=", 250_000, ["hba", "wlg"]),
        ("population", ">", 1_500_000, ["syd"]),
        ("population", ">=", 1_500_000, ["akl", "syd"]),
        ("tags", "array_contains", "port", ["akl", "syd", "wlg"]),
        ("tags", "array_contains_any", ["capital", "big"], ["akl", "cbr", "syd", "wlg"]),
        ("country", "in", ["NZ", "FJ"], ["akl", "wlg"]),
        ("country", "not-in", ["NZ"], ["cbr", "hba", "syd"]),
        ("country", "==", None, ["ant"]),
        ("population", "==", float("nan"), ["ant"]),
        ("country", "!=", None, ["akl", "cbr", "hba", "syd", "wlg"]),
        ("population", "!=", float("nan"), ["akl", "cbr", "hba", "syd", "wlg"]),
        ("tags", "==", ["capital"], ["cbr"]),
    ],
)
def test_operators(cities, field, operator, value, expected):
    query = cities.where(filter=FieldFilter(field, operator, value))
    assert sorted(ids(query)) == expected


def test_all_in_the_order_of_names(cities):
    assert ids(cities) == sorted(CITIES)


def test_conditions_together(cities):
    query = cities.where(filter=FieldFilter("country", "==", "AU")).where(
        filter=FieldFilter("population", ">", 300_000))
    assert ids(query) == ["cbr", "syd"]


def test_or_and_and(cities):
    query = cities.where(filter=Or([
        FieldFilter("country", "==", "NZ"),
        And([FieldFilter("country", "==", "AU"), FieldFilter("population", "<", 300_000)]),
    ]))
    assert sorted(ids(query)) == ["akl", "hba", "wlg"]


def test_inequalities_of_two_fields(cities):
    query = cities.where(filter=FieldFilter("population", ">", 220_000)).where(
        filter=FieldFilter("name", "<", "D"))
    assert ids(query.order_by("name")) == ["akl", "cbr"]


def test_orders(cities):
    assert ids(cities.order_by("population", direction="DESCENDING").limit(2)) == ["syd", "akl"]
    assert ids(cities.order_by("country").order_by("population", direction="DESCENDING")) == [
        "ant", "syd", "cbr", "hba", "akl", "wlg"]
    # Without the field there is no place in the order.
    assert "hba" not in ids(cities.order_by("tags"))


def test_limits(cities):
    query = cities.order_by("name")
    assert ids(query.limit(2)) == ["akl", "cbr"]
    assert ids(query.offset(1).limit(2)) == ["cbr", "hba"]
    assert ids(query.offset(10)) == []
    assert ids(query.limit(0)) == []
    # This turns the query's orders round for good.
    assert [s.id for s in query.limit_to_last(2).get()] == ["syd", "wlg"]


def test_cursors(cities):
    query = cities.order_by("name")
    assert ids(query.start_at({"name": "Hobart"}).end_at({"name": "Sydney"})) == [
        "hba", "ant", "syd"]
    assert ids(query.start_after({"name": "Hobart"}).end_before({"name": "Sydney"})) == ["ant"]
    assert ids(query.start_after(cities.document("hba").get()).limit(1)) == ["ant"]


def test_pages_by_cursors_have_everything_once(cities):
    found, last = [], None
    while True:
        query = cities.order_by("country").limit(2)
        page = list((query.start_after(last) if last else query).stream())
        if not page:
            break
        found += [snapshot.id for snapshot in page]
        last = page[-1]
    assert sorted(found) == sorted(CITIES)


def test_names(cities):
    name = FieldPath.document_id()
    query = cities.where(filter=FieldFilter(name, ">=", cities.document("h"))).where(
        filter=FieldFilter(name, "<", cities.document("t")))
    assert ids(query) == ["hba", "syd"]
    query = cities.where(filter=FieldFilter(name, "in", [cities.document("wlg"), cities.document("no")]))
    assert ids(query) == ["wlg"]


def test_projection(cities):
    query = cities.where(filter=FieldFilter("country", "==", "NZ")).select(["name"])
    assert [s.to_dict() for s in query.stream()] == [{"name": "Auckland"}, {"name": "Wellington"}]
    assert [s.to_dict() for s in cities.select([]).limit(1).stream()] == [{}]


def test_collection_group(client, collection):
    group = f"group_{collection.id}"
    for parent in ["a", "b"]:
        collection.document(parent).collection(group).document("x").set({"n": parent})
    client.collection(group).document("y").set({"n": "c"})
    collection.document("a").collection("other").document("x").set({"n": "d"})
    query = client.collection_group(group)
    assert [s.get("n") for s in query.order_by("n").stream()] == ["a", "b", "c"]
    assert [s.get("n") for s in query.where(filter=FieldFilter("n", ">", "a")).stream()] == ["b", "c"]


def test_partitions(client, collection):
    group = f"parts_{collection.id}"
    batch = client.batch()
    for number in range(600):
        batch.set(
            collection.document(f"p{number % 3}").collection(group).document(f"d{number:03}"), {})
    batch.commit()
    query = client.collection_group(group)
    partitions = list(query.get_partitions(3))
    assert len(partitions) == 4
    parts = [[s.reference.path for s in p.query().stream()] for p in partitions]
    together = [path for part in parts for path in part]
    assert len(together) == len(set(together)) == 600
    assert min(len(part) for part in parts) >= 120
    # Few documents are not worth cutting.
    assert len(list(client.collection_group("cities_of_queries").get_partitions(3))) == 1


def test_values_of_all_types_in_one_order(collection):
    values = [None, False, True, float("nan"), -1.5, 0, 1, "", "a", b"", b"a", [], [1], {}, {"a": 1}]
    for number, value in enumerate(values):
        collection.document(f"{len(values) - number:02}").set({"v": value})
    found = [s.get("v") for s in collection.order_by("v").stream()]
    assert repr(found) == repr(values)


def test_a_number_is_equal_to_its_double(collection):
    collection.document("a").set({"n": 1})
    collection.document("b").set({"n": 1.0})
    assert ids(collection.where(filter=FieldFilter("n", "==", 1))) == ["a", "b"]


def test_count_sum_and_average(cities):
    query = cities.where(filter=FieldFilter("country", "==", "NZ"))
    got = (
        query.count(alias="n").sum("population", alias="s").avg("population", alias="a").get())
    assert {result.alias: result.value for result in got[0]} == {
        "n": 2, "s": 1_716_000, "a": 858_000.0}


def test_figures_of_nothing(raw, root, collection):
    field = {"field": {"field_path": "x"}}
    answer = list(raw.run_aggregation_query({
        "parent": root, "structured_aggregation_query": {
            "structured_query": {"from_": [{"collection_id": collection.id}]},
            "aggregations": [
                {"alias": "n", "count": {}}, {"alias": "s", "sum": field},
                {"alias": "a", "avg": field}]}}))[0]
    fields = answer.result.aggregate_fields
    assert fields["n"].integer_value == fields["s"].integer_value == 0
    assert "null_value" in fields["a"] and "integer_value" in fields["s"]


def test_count_up_to_a_limit(cities):
    assert cities.limit(3).count().get()[0][0].value == 3
    assert cities.count().get()[0][0].value == len(CITIES)


def test_sum_that_leaves_the_integers(collection):
    collection.document("a").set({"n": 2**63 - 1})
    collection.document("b").set({"n": 1})
    total = collection.sum("n").get()[0][0].value
    assert total == pytest.approx(2.0**63)
    collection.document("c").set({"n": 0.5})
    assert isinstance(collection.sum("n").get()[0][0].value, float)


def test_explain_without_running(cities):
    results = cities.where(filter=FieldFilter("country", "==", "NZ")).get(
        explain_options=ExplainOptions(analyze=False))
    metrics = results.get_explain_metrics()
    assert list(results) == []
    assert "scan" in metrics.plan_summary.indexes_used[0]["plan"]


def test_explain_with_running(cities):
    results = cities.where(filter=FieldFilter("country", "==", "NZ")).get(
        explain_options=ExplainOptions(analyze=True))
    assert [s.id for s in results] == ["akl", "wlg"]
    stats = results.get_explain_metrics().execution_stats
    assert stats.results_returned == 2
    assert int(stats.debug_stats["documents_scanned"]) >= 2


def test_query_as_of_now(cities):
    read_time = cities.document("akl").get().read_time
    assert len(list(cities.stream(read_time=read_time))) == len(CITIES)


def test_query_as_of_the_past(collection):
    """The last commits are kept; what is older is refused, not answered wrongly."""
    document = collection.document("a")
    before = document.set({"x": 0}).update_time
    document.set({"x": 1})
    query = collection.where(filter=FieldFilter("x", "==", 0))
    assert [s.get("x") for s in query.stream(read_time=before)] == [0]
    assert query.count().get(read_time=before)[0][0].value == 1
    assert list(query.stream()) == []
    assert document.get(read_time=before).get("x") == 0
    for number in range(2, 50):
        document.set({"x": number})
    with pytest.raises(exceptions.FailedPrecondition, match="too old"):
        list(query.stream(read_time=before))


def test_nearest_vectors_are_not_implemented(cities):
    from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
    from google.cloud.firestore_v1.vector import Vector

    query = cities.find_nearest(
        "v", Vector([1.0]), distance_measure=DistanceMeasure.EUCLIDEAN, limit=1)
    with pytest.raises(exceptions.MethodNotImplemented):
        list(query.stream())


def test_a_large_answer_comes_whole(client, collection):
    text = "x" * 10_000
    for start in range(0, 1_000, 500):
        batch = client.batch()
        for number in range(start, start + 500):
            batch.set(collection.document(f"d{number:04}"), {"n": number, "text": text})
        batch.commit()
    found = [snapshot.get("n") for snapshot in collection.stream()]
    assert found == list(range(1_000))


def test_a_client_that_stops_reading_harms_nobody(client, collection):
    text = "x" * 100_000
    for number in range(100):
        collection.document(f"d{number:02}").set({"text": text})
    streams = [collection.stream() for _ in range(20)]
    for stream in streams:
        next(stream)
    # The others are served while 20 answers of 10 MB are not taken.
    assert collection.document("d00").get().exists
    assert collection.document("other").set({"x": 1}).update_time is not None
    assert len(list(collection.select([]).limit(5).stream())) == 5
    for stream in streams:
        stream.close() if hasattr(stream, "close") else None

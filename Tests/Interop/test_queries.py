"""Queries and figures over them: every operator, order, cursor and limit."""

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.query_profile import ExplainOptions
from google.cloud.firestore_v1.vector import Vector

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
    metrics = results.get_explain_metrics()
    assert metrics.plan_summary.indexes_used[0]["properties"] == "(country ASC, __name__ ASC)"
    stats = metrics.execution_stats
    assert stats.results_returned == 2
    assert int(stats.debug_stats["documents_scanned"]) >= 2


def test_the_last_response_has_the_metrics(raw, root, cities):
    query = {"from_": [{"collection_id": cities.id}], "limit": 2}
    answers = list(raw.run_query({
        "parent": root, "structured_query": query, "explain_options": {"analyze": True}}))
    assert [bool(answer.document) for answer in answers] == [True, True]
    assert [bool(answer.explain_metrics) for answer in answers] == [False, True]
    query["limit"] = 0
    answers = list(raw.run_query({
        "parent": root, "structured_query": query, "explain_options": {"analyze": True}}))
    assert len(answers) == 1 and answers[0].explain_metrics and answers[0].read_time


def test_explain_of_figures(cities):
    query = cities.where(filter=FieldFilter("country", "==", "NZ")).count()
    metrics = query.get(explain_options=ExplainOptions(analyze=True)).get_explain_metrics()
    assert metrics.plan_summary.indexes_used[0]["properties"] == "(country ASC, __name__ ASC)"
    stats = metrics.execution_stats
    assert stats.results_returned == 1
    assert {"documents_scanned", "index_entries_scanned", "billing_details"} <= set(
        stats.debug_stats)


def test_query_as_of_now(cities):
    read_time = cities.document("akl").get().read_time
    assert len(list(cities.stream(read_time=read_time))) == len(CITIES)


def test_query_as_of_the_past(collection):
    """An hour of commits is kept, up to a number; what is older is refused, not answered wrongly."""
    document = collection.document("a")
    before = document.set({"x": 0}).update_time
    document.set({"x": 1})
    query = collection.where(filter=FieldFilter("x", "==", 0))
    assert [s.get("x") for s in query.stream(read_time=before)] == [0]
    assert query.count().get(read_time=before)[0][0].value == 1
    assert list(query.stream()) == []
    assert document.get(read_time=before).get("x") == 0
    for number in range(2, 100):
        document.set({"x": number})
    assert document.get(read_time=before).get("x") == 0
    batch = collection.document("b")
    for number in range(1_100):
        batch.set({"x": number})
    with pytest.raises(exceptions.FailedPrecondition, match="too old: reads go back to"):
        list(query.stream(read_time=before))


# ---- Nearest vectors -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def places(client):
    """Vectors of the form of the emulator's own answers, which these tests compare with."""
    collection = client.collection("places_of_queries")
    inputs = {
        "a": {"v": Vector([1.0, 2.0]), "n": 1}, "b": {"v": Vector([-1.0, 2.0]), "n": 2},
        "c": {"v": Vector([1.0, 2.0, 3.0])}, "d": {"v": 1.0}, "e": {"n": 1},
        "f": {"v": Vector([0.0, 0.0]), "n": 1}, "h": {"v": Vector([float("inf"), 1.0])},
        "i": {"v": Vector([2.0, 4.0]), "n": 3}, "j": {"v": Vector([1.0, 2.0]), "n": 4},
        "l": {"v": Vector([3.0, 4.0])},
    }
    for key, value in inputs.items():
        collection.document(key).set(value)
    return collection


@pytest.mark.parametrize("measure, threshold, expected", [
    ("EUCLIDEAN", None, "ajbfilh"), ("COSINE", None, "aijlbfh"), ("DOT_PRODUCT", None, "hliajbf"),
    ("EUCLIDEAN", 2.0, "ajb"), ("COSINE", 3.0, "aijlb"), ("DOT_PRODUCT", 5.0, "hliaj"),
    ("EUCLIDEAN", -1.0, ""),
])
def test_nearest_vectors(places, measure, threshold, expected):
    found = places.find_nearest(
        "v", Vector([1.0, 2.0]), distance_measure=DistanceMeasure[measure], limit=100,
        distance_threshold=threshold, distance_result_field="near").get()
    assert "".join(snapshot.id for snapshot in found) == expected
    assert all("near" in snapshot.to_dict() for snapshot in found)
    if measure == "EUCLIDEAN" and found:
        assert [snapshot.get("near") for snapshot in found][:3] == [0, 0, 2]


def test_nearest_vectors_of_a_query(places):
    def found(query, **options):
        return [(s.id, s.to_dict()) for s in query.find_nearest(
            "v", Vector([1.0, 2.0]), distance_measure=DistanceMeasure.EUCLIDEAN, limit=2,
            **options).get()]

    ones = places.where(filter=FieldFilter("n", "==", 1))
    assert [key for key, _ in found(ones)] == ["a", "f"]
    assert [key for key, _ in found(places.where(filter=FieldFilter("n", ">", 1)))] == ["j", "b"]
    assert found(places.select(["n"]), distance_result_field="near") == [
        ("a", {"n": 1}), ("j", {"n": 4})]
    assert found(places.select(["near"]), distance_result_field="near") == [
        ("a", {"near": 0.0}), ("j", {"near": 0.0})]
    # The name is no path, and takes the place of a field.
    assert [value["a.b"] for _, value in found(places, distance_result_field="a.b")] == [0, 0]
    assert [value["n"] for _, value in found(places, distance_result_field="n")] == [0, 0]


def vector(*components):
    return {"map_value": {"fields": {
        "__type__": {"string_value": "__vector__"},
        "value": {"array_value": {"values": [{"double_value": x} for x in components]}}}}}


@pytest.mark.parametrize("change", [
    {"distance_measure": 0}, {"distance_measure": 9}, {"limit": None}, {"limit": 0},
    {"limit": -1}, {"limit": 1001}, {"query_vector": None},
    {"query_vector": {"double_value": 1}}, {"query_vector": vector()},
    {"query_vector": vector(*[1] * 2049)}, {"vector_field": None},
    {"vector_field": {"field_path": "a..b"}}, {"distance_result_field": "__x__"},
    {"distance_threshold": float("nan")}, {"offset": 1}, {"query_limit": 2}, {"start_at": True},
])
def test_wrong_searches_for_nearest_vectors(raw, root, places, change):
    nearest = {
        "vector_field": {"field_path": "v"}, "query_vector": vector(1, 2), "distance_measure": 1,
        "limit": 10}
    query = {"from_": [{"collection_id": places.id}], "find_nearest": nearest}
    for name, value in change.items():
        if name == "offset":
            query["offset"] = value
        elif name == "query_limit":
            query["limit"] = value
        elif name == "start_at":
            query["order_by"] = [{"field": {"field_path": "n"}}]
            query["start_at"] = {"values": [{"integer_value": 1}]}
        else:
            nearest[name] = value
    query["find_nearest"] = {name: value for name, value in nearest.items() if value is not None}
    with pytest.raises(exceptions.InvalidArgument):
        list(raw.run_query({"parent": root, "structured_query": query}))


@pytest.mark.parametrize("components", [[], [1] * 2049, [1, float("nan")]])
def test_vectors_that_are_not_stored(raw, database, root, components):
    name = f"{root}/vectors_of_queries/a"
    with pytest.raises(exceptions.InvalidArgument):
        raw.commit({"database": database, "writes": [
            {"update": {"name": name, "fields": {"v": vector(*components)}}}]})


def test_a_vector_in_an_array_is_not_stored(raw, database, root):
    name = f"{root}/vectors_of_queries/a"
    with pytest.raises(exceptions.InvalidArgument):
        raw.commit({"database": database, "writes": [
            {"update": {"name": name, "fields": {
                "v": {"array_value": {"values": [vector(1)]}}}}}]})
    raw.commit({"database": database, "writes": [
        {"update": {"name": name, "fields": {
            "v": {"map_value": {"fields": {"x": vector(*[1] * 2048)}}}}}}]})


def test_explain_names_the_search_for_nearest_vectors(places):
    results = places.find_nearest(
        "v", Vector([1.0, 2.0]), distance_measure=DistanceMeasure.COSINE, limit=2).get(
        explain_options=ExplainOptions(analyze=True))
    assert [s.id for s in results] == ["a", "i"]
    metrics = results.get_explain_metrics()
    assert metrics.execution_stats.results_returned == 2
    assert "VECTOR<2>" in metrics.plan_summary.indexes_used[0]["properties"]


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

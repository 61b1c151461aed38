"""Random queries and commits against the rules of rules.py, on any server.

LARDER_TEST_SEED repeats a run whose seed was printed, LARDER_RULES_CASES is how many queries are
tried.
"""

import datetime
import os
import random

import pytest
from google.api_core import exceptions
from google.cloud.firestore_v1._helpers import encode_value

import rules
from rules import NAME, Query

CASES = int(os.environ.get("LARDER_RULES_CASES", "1500"))
NAN, INFINITY = float("nan"), float("inf")
COMPARISONS = [
    "EQUAL", "NOT_EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN",
    "GREATER_THAN_OR_EQUAL",
]
SCALARS = [
    None, NAN, False, True, -INFINITY, -1, -1.5, -0.0, 0.0, 0, 1, 1.0, 1.5, 2, 2.0, 2**53,
    float(2**53), 2**53 + 1, INFINITY, "", "a", b"a",
    datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc),
]
SAMPLES = [
    *SCALARS, [], [1], [1.0], [NAN], [None, 1], [NAN, 1], [-0.0], [0], [1, 2], [{"a": 1}],
    [{"a": 1.0}], {}, {"a": 1}, {"a": 1.0}, {"a": NAN}, {"a": None}, {"a": -0.0}, {"a": 0},
    {"a": [1]}, {"a": [1.0]},
]


@pytest.fixture(scope="module")
def chance():
    seed = int(os.environ.get("LARDER_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print(f"LARDER_TEST_SEED={seed}")
    return random.Random(seed)


# Random values, documents and queries


def scalar(chance):
    return chance.choice(SCALARS if chance.random() < 0.9 else [None, NAN])


def element(chance):
    if chance.random() < 0.2:
        return {"k": chance.choice([1, 1.0, NAN, None])}
    return scalar(chance)


def value(chance):
    kind = chance.randrange(6)
    if kind == 0:
        return [element(chance) for _ in range(chance.randrange(4))]
    if kind == 1:
        return {name: element(chance) for name in ["k", "l"] if chance.random() < 0.6}
    return scalar(chance)


def document(chance):
    fields = {name: value(chance) for name in ["a", "b"] if chance.random() < 0.85}
    if chance.random() < 0.8:
        fields["tags"] = [element(chance) for _ in range(chance.randrange(5))]
    if chance.random() < 0.7:
        fields["m"] = {"x": value(chance)}
    return fields


def condition(chance, names):
    path = chance.choice(["a", "a", "b", "m.x", "tags"])
    kind = chance.randrange(20)
    if kind < 8:
        operator, given = chance.choice(COMPARISONS), value(chance)
        is_equality = operator in ("EQUAL", "NOT_EQUAL")
        if rules.is_null_or_nan(given) and is_equality and chance.random() < 0.7:
            # As Google's clients ask for them.
            prefix = "IS_" if operator == "EQUAL" else "IS_NOT_"
            return ("unary", path, prefix + ("NULL" if given is None else "NAN"))
        return ("field", path, operator, given)
    if kind < 11:
        return ("field", path, "IN", listed(chance, value))
    if kind == 11:
        return ("field", path, "NOT_IN", listed(chance, value))
    if kind < 14:
        return ("field", "tags", "ARRAY_CONTAINS", element(chance))
    if kind < 16:
        return ("field", "tags", "ARRAY_CONTAINS_ANY", listed(chance, element))
    if kind < 19:
        return ("unary", path, chance.choice(["IS_NULL", "IS_NAN", "IS_NOT_NULL", "IS_NOT_NAN"]))
    if chance.random() < 0.3:
        return ("field", NAME, "IN", [chance.choice(names) for _ in range(3)])
    return ("field", NAME, chance.choice(COMPARISONS), chance.choice(names))


def listed(chance, make):
    size = 1 + chance.randrange(4) if chance.random() < 0.95 else 8 + chance.randrange(26)
    return [make(chance) for _ in range(size)]


def filter_of(chance, names, depth=2):
    if depth == 0 or chance.random() < 0.65:
        return condition(chance, names)
    parts = [filter_of(chance, names, depth - 1) for _ in range(1 + chance.randrange(3))]
    return (chance.choice(["and", "or"]), parts)


def query_of(chance, names):
    where = ("and", [filter_of(chance, names) for _ in range(chance.randrange(3))])
    orders = [
        (path, chance.choice(["ASCENDING", "DESCENDING"]))
        for path in chance.choices(["a", "b", "m.x"], k=chance.choice([0, 0, 0, 1, 1, 2]))
    ]
    if chance.random() < 0.15:
        place = chance.randrange(len(orders) + 1)
        # The emulator has no descending order of names alone.
        direction = chance.choice(["ASCENDING", "DESCENDING"]) if place else "ASCENDING"
        orders.insert(place, (NAME, direction))

    def cursor():
        if not orders or chance.random() < 0.8:
            return None
        given = orders[: 1 + chance.randrange(len(orders))]
        values = [chance.choice(names) if path == NAME else value(chance) for path, _ in given]
        return (values, chance.random() < 0.5)

    limit = 1 + chance.randrange(5) if chance.random() < 0.3 else None
    query = Query(where, orders, cursor(), cursor(), limit)
    is_nested = any(part[0] in ("and", "or") for part in where[1])
    if is_nested and rules.disjunction_count(where) > 30:
        # The emulator simplifies nested filters further before it counts.
        return query_of(chance, names)
    if any(matches_nothing(c) for c in rules.conditions(where)):
        # To the emulator a list that matches nothing implies no order and counts as no inequality.
        # Google's clients give all orders, so that only the latter tells.
        if any(c[1] == NAME and c[2] in ("EQUAL", "IN") for c in rules.conditions(where)):
            return query_of(chance, names)
        query.given_orders = query.orders
    return query


def matches_nothing(condition):
    operator, given = (*condition[2:], None)[:2]
    return operator == "NOT_IN" and None in given


# As the protocol has them


class Encoder:
    def __init__(self, collection):
        self.collection = collection

    def value(self, path, value):
        if path == NAME:
            return {"reference_value": f"{self.collection}/{value}"}
        return encode_value(value)

    def filter(self, condition):
        kind, *rest = condition
        if kind in ("and", "or"):
            filters = [self.filter(part) for part in rest[0]]
            return {"composite_filter": {"op": kind.upper(), "filters": filters}}
        path, operator, given = (*rest, None)[:3]
        field = {"field_path": path}
        if kind == "unary":
            return {"unary_filter": {"op": operator, "field": field}}
        if operator in ("IN", "NOT_IN", "ARRAY_CONTAINS_ANY"):
            given = {"array_value": {"values": [self.value(path, one) for one in given]}}
        else:
            given = self.value(path, given)
        return {"field_filter": {"op": operator, "field": field, "value": given}}

    def query(self, query):
        message = {"from_": [{"collection_id": self.collection.rpartition("/")[2]}]}
        if query.where[1]:
            message["where"] = self.filter(query.where)
        message["order_by"] = [
            {"field": {"field_path": path}, "direction": direction}
            for path, direction in query.given_orders]
        for side, cursor in [("start_at", query.start), ("end_at", query.end)]:
            if cursor:
                pairs = zip(query.given_orders, cursor[0])
                values = [self.value(path, one) for (path, _), one in pairs]
                message[side] = {"values": values, "before": cursor[1]}
        if query.limit:
            message["limit"] = query.limit
        return message


def ask(raw, root, encoder, query):
    """The names of the documents found, or the status of the refusal."""
    request = {"parent": root, "structured_query": encoder.query(query)}
    try:
        return [
            response.document.name.rpartition("/")[2]
            for response in raw.run_query(request) if response.document.name]
    except exceptions.GoogleAPICallError as error:
        return status(error)


def put(raw, root, database, collection, documents):
    place = f"{root}/{collection.id}"
    raw.commit({"database": database, "writes": [
        {"update": {
            "name": f"{place}/{name}",
            "fields": {key: encode_value(one) for key, one in fields.items()}}}
        for name, fields in documents.items()]})
    return Encoder(place)


def status(error):
    return error.grpc_status_code.name if error.grpc_status_code else repr(error)


def test_every_operator_with_every_value(raw, root, database, collection):
    """Each row of the table in README.md."""
    documents = {f"d{number:02}": {"v": sample} for number, sample in enumerate(SAMPLES)}
    encoder = put(raw, root, database, collection, documents)
    asked = [("unary", "v", f"IS_{what}") for what in ["NULL", "NAN", "NOT_NULL", "NOT_NAN"]]
    for sample in SAMPLES:
        asked += [("field", "v", operator, sample) for operator in COMPARISONS]
        for others in [[], ["z"], ["z", None], [NAN, 1]]:
            asked += [("field", "v", operator, [sample, *others]) for operator in ["IN", "NOT_IN"]]
            if not isinstance(sample, list):
                asked.append(("field", "v", "ARRAY_CONTAINS_ANY", [sample, *others]))
        if not isinstance(sample, list):
            asked.append(("field", "v", "ARRAY_CONTAINS", sample))
    for condition in asked:
        query = Query(("and", [condition]))
        assert ask(raw, root, encoder, query) == query.answer(documents), condition


def test_random_queries(raw, root, database, collection, chance):
    documents = {f"d{number:02}": document(chance) for number in range(60)}
    encoder, names = put(raw, root, database, collection, documents), sorted(documents)
    refused = found = 0
    for _ in range(CASES):
        query = query_of(chance, names)
        answer = ask(raw, root, encoder, query)
        assert answer == query.answer(documents), query
        refused += answer == rules.REFUSED
        found += answer not in (rules.REFUSED, [])
        if answer != rules.REFUSED and chance.random() < 0.3:
            assert count(raw, root, encoder, query) == len(answer), query
    assert refused > CASES / 20 and found > CASES / 4


def count(raw, root, encoder, query):
    response = list(raw.run_aggregation_query({
        "parent": root, "structured_aggregation_query": {
            "structured_query": encoder.query(query),
            "aggregations": [{"alias": "n", "count": {}}]}}))[0]
    return response.result.aggregate_fields["n"].integer_value


def test_random_writes_of_one_document(raw, root, database, collection, chance):
    name = f"{root}/{collection.id}/a"
    made = 0
    for _ in range(300):
        writes = [
            (chance.choice(["set", "set", "delete"]),
             chance.choice([None, None, True, False, "version", "other"]))
            for _ in range(1 + chance.randrange(4))]
        exists = chance.random() < 0.5
        before = {"update": {"name": name}} if exists else {"delete": name}
        response = raw.commit({"database": database, "writes": [before]})
        version = response.write_results[0].update_time
        messages = []
        for kind, precondition in writes:
            message = {"update": {"name": name}} if kind == "set" else {"delete": name}
            if precondition in (True, False):
                message["current_document"] = {"exists": precondition}
            elif precondition:
                other = {"seconds": 1}
                is_known = precondition == "version" and exists
                message["current_document"] = {"update_time": version if is_known else other}
            messages.append(message)
        expected = rules.writes_refusal(
            [(kind, "other" if p == "version" and not exists else p) for kind, p in writes], exists)
        try:
            raw.commit({"database": database, "writes": messages})
            got = None
        except exceptions.GoogleAPICallError as error:
            got = status(error)
        assert got == expected, (writes, exists)
        made += got is None
        is_there = bool(list(raw.batch_get_documents(
            {"database": database, "documents": [name]}))[0].found.name)
        assert is_there == (exists if got else writes[-1][0] == "set"), (writes, exists)
    assert made > 50

"""Firestore's rules for queries and for writes of one document, as a model.

The table in README.md says them in words. The model is what test_rules.py measures a server by,
larderd and Google's emulator alike.

A filter is ("field", path, operator, value), ("unary", path, operator), ("and", filters) or
("or", filters); the operators are those of the protocol. A document is a dictionary of its fields.
"""

import datetime
import functools

NAME = "__name__"
INEQUALITIES = {
    "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL", "NOT_EQUAL",
    "NOT_IN", "IS_NOT_NULL", "IS_NOT_NAN",
}
EXCLUSIONS = {"NOT_EQUAL", "NOT_IN", "IS_NOT_NULL", "IS_NOT_NAN"}
ARRAY_FILTERS = {"ARRAY_CONTAINS", "ARRAY_CONTAINS_ANY"}
REFUSED = "INVALID_ARGUMENT"
MISSING = object()


# Values


def rank(value):
    """The place of a value's type among the types."""
    if value is None:
        return 0
    if isinstance(value, bool):
        return 1
    types = [(int, float), datetime.datetime, str, bytes, list, dict]
    return 2 + next(place for place, kind in enumerate(types) if isinstance(value, kind))


def sign(left, right):
    return (left > right) - (left < right)


def compare(left, right):
    """Firestore's order of values: 1 is beside 1.0, NaN below all numbers."""
    if rank(left) != rank(right):
        return sign(rank(left), rank(right))
    if left is None:
        return 0
    if isinstance(left, float) and left != left or isinstance(right, float) and right != right:
        return sign(left == left, right == right)
    if isinstance(left, list):
        return compare_all(left, right)
    if isinstance(left, dict):
        left, right = ([x for entry in sorted(m.items()) for x in entry] for m in (left, right))
        return compare_all(left, right)
    return sign(left, right)


def compare_all(left, right):
    for pair in zip(left, right):
        if order := compare(*pair):
            return order
    return sign(len(left), len(right))


def is_null_or_nan(value):
    return value is None or value != value


# Filters


def field(document, path):
    value = document
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value


def meets(value, operator, given):
    """Whether a field with a value meets a condition."""
    match operator:
        case "IS_NULL":
            return value is None
        case "IS_NAN":
            return value != value
        case "IS_NOT_NULL":
            return value is not None
        case "IS_NOT_NAN":
            return not is_null_or_nan(value)
        case "EQUAL":
            return not is_null_or_nan(given) and compare(value, given) == 0
        case "NOT_EQUAL":
            return value is not None and given is not None and not meets(value, "EQUAL", given)
        case "IN":
            return any(meets(value, "EQUAL", one) for one in given)
        case "NOT_IN":
            return all(meets(value, "NOT_EQUAL", one) for one in given)
        case "ARRAY_CONTAINS":
            return isinstance(value, list) and any(meets(x, "EQUAL", given) for x in value)
        case "ARRAY_CONTAINS_ANY":
            return any(meets(value, "ARRAY_CONTAINS", one) for one in given)
    if is_null_or_nan(value) or is_null_or_nan(given) or rank(value) != rank(given):
        return False
    order = compare(value, given)
    return {
        "LESS_THAN": order < 0, "LESS_THAN_OR_EQUAL": order <= 0,
        "GREATER_THAN": order > 0, "GREATER_THAN_OR_EQUAL": order >= 0,
    }[operator]


def holds(condition, name, document):
    kind, *rest = condition
    if kind == "and":
        return all(holds(part, name, document) for part in rest[0])
    if kind == "or":
        return any(holds(part, name, document) for part in rest[0])
    path, operator, given = (*rest, None)[:3]
    value = name if path == NAME else field(document, path)
    return value is not MISSING and meets(value, operator, given)


def conditions(condition):
    """The conditions on fields in a filter."""
    if condition[0] in ("and", "or"):
        return [one for part in condition[1] for one in conditions(part)]
    return [condition]


def is_inequality(condition):
    """Whether a condition implies an order: not where it can match nothing."""
    path, operator, given = (*condition[1:], None)[:3]
    if operator not in INEQUALITIES or condition[0] == "unary":
        return operator in INEQUALITIES
    if operator == "NOT_EQUAL":
        return given is not None
    return operator == "NOT_IN" or not is_null_or_nan(given)


def has_or(condition):
    return condition[0] == "or" or condition[0] == "and" and any(map(has_or, condition[1]))


def distinct(parts):
    return list({repr(part): part for part in parts}.values())


def disjunction_count(condition):
    """How many alternatives a filter comes down to; what an `or` has twice counts once."""
    if condition[0] == "and":
        return functools.reduce(
            lambda count, part: count * disjunction_count(part), distinct(condition[1]), 1)
    return sum(
        disjunction_count(branch) if branch[0] == "and" else 1
        for branch in distinct(branches(condition)))


def branches(condition):
    """The branches of a filter taken as an `or`: lists as a condition for each value."""
    kind, *rest = condition
    if kind == "or" or kind == "and" and len(rest[0]) == 1:
        return [branch for part in rest[0] for branch in branches(part)]
    if kind == "and":
        return [condition]
    single = {"IN": "EQUAL", "ARRAY_CONTAINS_ANY": "ARRAY_CONTAINS"}.get(rest[1])
    return [(kind, rest[0], single, one) for one in rest[2]] if single else [condition]


def array_filter_count(condition):
    """The most array filters that one alternative has; the same one beside itself counts once."""
    kind, *rest = condition
    if kind == "or":
        return max(map(array_filter_count, rest[0]), default=0)
    if kind == "and":
        return sum(map(array_filter_count, distinct(rest[0])))
    return int(rest[1] in ARRAY_FILTERS)


# Queries


class Query:
    """A query of one collection. A cursor is (values, whether it lies before them)."""

    def __init__(self, where=("and", []), orders=(), start=None, end=None, limit=None):
        self.where, self.start, self.end, self.limit = where, start, end, limit
        self.given_orders = list(orders)
        self.orders = list(orders)
        last = orders[-1][1] if orders else "ASCENDING"
        implied = sorted({c[1] for c in conditions(where) if is_inequality(c)} - {NAME})
        for path in [*implied, NAME]:
            if path not in [order[0] for order in self.orders]:
                self.orders.append((path, last))

    def __repr__(self):
        return (
            f"where {self.where} order by {self.given_orders} from {self.start} to {self.end} "
            f"limit {self.limit}")

    def is_refused(self):
        all_conditions = conditions(self.where)
        operators = [condition[2] for condition in all_conditions]
        on_name = {condition[2] for condition in all_conditions if condition[1] == NAME}
        inequalities = {c[2] for c in all_conditions if is_inequality(c)}
        paths = [path for path, _ in self.orders]
        return (
            sum(operator in EXCLUSIONS for operator in operators) > 1
            or "NOT_IN" in operators
            and (has_or(self.where) or {"IN", "ARRAY_CONTAINS_ANY"} & set(operators))
            or any(len(c[3]) > 30 for c in all_conditions if c[2] in ("IN", "ARRAY_CONTAINS_ANY"))
            or any(len(c[3]) > 10 for c in all_conditions if c[2] == "NOT_IN")
            or disjunction_count(self.where) > 30
            or array_filter_count(self.where) > 1
            or paths.index(NAME) < len(paths) - 1
            or len(set(paths)) < len(paths)
            or bool({"EQUAL", "IN"} & on_name)
            and not INEQUALITIES & on_name
            and bool(inequalities)
            or any(len(c[0]) > len(self.given_orders) for c in (self.start, self.end) if c))

    def answer(self, documents):
        """The names of the documents that match, in order; the status of a refused query."""
        if self.is_refused():
            return REFUSED
        found = [
            name for name, document in documents.items()
            if holds(self.where, name, document)
            and all(self.place(name, documents)[i] is not MISSING for i in range(len(self.orders)))
            and self.is_within(self.place(name, documents))
        ]
        key = functools.cmp_to_key(lambda a, b: self.compare_places(
            self.place(a, documents), self.place(b, documents)))
        return sorted(found, key=key)[: self.limit]

    def place(self, name, documents):
        return [
            name if path == NAME else field(documents[name], path) for path, _ in self.orders]

    def compare_places(self, left, right):
        for (_, direction), a, b in zip(self.orders, left, right):
            if order := compare(a, b):
                return -order if direction == "DESCENDING" else order
        return 0

    def is_within(self, place):
        for cursor, side in [(self.start, 1), (self.end, -1)]:
            if cursor is None:
                continue
            order = self.compare_places(place, cursor[0])
            # A start that lies before its values includes them, an end does not.
            if order != side and not (order == 0 and cursor[1] == (side == 1)):
                return False
        return True


# Writes of one document


def writes_refusal(writes, exists):
    """The status of a commit of writes to one document; None where it is made.

    A write is (kind, precondition): "set" or "delete", and None, True or False for what must
    exist, "version" for that which the document has, or "other" for one that it never had.
    """
    first, there = writes[0][1], None
    for kind, precondition in writes:
        if there is not None:
            by_version = precondition in ("version", "other")
            if precondition is (not there) or by_version and not there and kind == "set":
                return REFUSED
            if by_version and precondition != first:
                return REFUSED
        there = kind == "set"
    if first in ("version", "other"):
        return None if exists and first == "version" else "FAILED_PRECONDITION"
    if first is True and not exists:
        return "NOT_FOUND"
    return "ALREADY_EXISTS" if first is False and exists else None

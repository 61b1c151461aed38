"""Trees of the Realtime Database: encoded nodes, reading, writing, tracked queries, writes."""

import ctypes
from ctypes import byref

from binding import (
    END, MORE, NOT_FOUND, LarderTest, Store, lib, ok, pair, sized, take, text, time_of,
)  # fmt: skip


def leaf(value):
    """larder_leaf of None, a bool, an int, a float or a str."""
    result = lib.t_leaf()
    if isinstance(value, bool):
        result.type = lib.NODE_TRUE if value else lib.NODE_FALSE
    elif isinstance(value, int):
        result.type, result.integer = lib.NODE_INTEGER, value
    elif isinstance(value, float):
        result.type, result.number = lib.NODE_DOUBLE, value
    elif value is not None:
        result.type, result.text = lib.NODE_STRING, text(value)
    return result


def value_of(given):
    """The Python value of a larder_leaf."""
    return {
        lib.NODE_EMPTY: lambda: None,
        lib.NODE_FALSE: lambda: False,
        lib.NODE_TRUE: lambda: True,
        lib.NODE_INTEGER: lambda: given.integer,
        lib.NODE_DOUBLE: lambda: given.number,
        lib.NODE_STRING: lambda: take(given.text).decode(),
    }[given.type]()


class NodeBuilder:
    """Builds encoded nodes, and receives what is read."""

    def __enter__(self):
        self.handle = ctypes.POINTER(lib.t_node_builder)()
        ok(lib.node_builder_create, None, byref(self.handle))
        return self

    def __exit__(self, *_):
        lib.node_builder_close(self.handle)

    def add(self, value, priority=None):
        """Dictionaries are children; their keys are in order."""
        if not isinstance(value, dict):
            ok(lib.node_builder_leaf, self.handle, byref(leaf(value)), byref(leaf(priority)))
            return
        ok(lib.node_builder_begin_children, self.handle, byref(leaf(priority)))
        for key, child in value.items():
            ok(lib.node_builder_key, self.handle, text(key))
            self.add(child)
        ok(lib.node_builder_end_children, self.handle)

    def finish(self):
        encoded = lib.t_bytes()
        ok(lib.node_builder_finish, self.handle, byref(encoded))
        return take(encoded)


def encoded(value, priority=None):
    if value is None:
        return b""
    with NodeBuilder() as builder:
        lib.node_builder_reset(builder.handle)
        builder.add(value, priority)
        return builder.finish()


def decoded(data):
    """The value of an encoded node, without priorities; None for an empty one."""
    if not data:
        return None
    node = lib.t_node()
    ok(lib.node_open, text(data), byref(node))
    if node.type != lib.NODE_CHILDREN:
        return value_of(node.leaf)
    children, key, child, result = node.children, lib.t_bytes(), lib.t_bytes(), {}
    error = lib.t_error()
    while lib.node_take_child(byref(children), byref(key), byref(child), byref(error)) != END:
        result[take(key).decode()] = decoded(take(child))
    return result


class Tree:
    """A tree named scores, in a transaction."""

    def __init__(self, txn):
        number = ctypes.c_uint64()
        ok(lib.node_tree_obtain, txn, text("scores"), byref(number))
        self.txn, self.number = txn, number.value

    def put(self, path, value, priority=None):
        ok(lib.node_put, self.txn, self.number, text(path), text(encoded(value, priority)))

    def read(self, call, *arguments, expect=(0,)):
        with NodeBuilder() as builder:
            status = ok(
                call, self.txn, self.number, *arguments, builder.handle, expect=expect
            )
            return status, decoded(builder.finish())

    def whole(self, path=""):
        return self.read(lib.node_read, text(path), expect=(0, NOT_FOUND))[1]


class EncodedNodes(LarderTest):
    def test_values(self):
        value = {"1": True, "2": -7, "a": 1.5, "b": {"c": "text"}}
        data = encoded(value, priority=3)
        ok(lib.node_validate, text(data))
        self.assertEqual(decoded(data), value)
        node = lib.t_node()
        ok(lib.node_open, text(data), byref(node))
        self.assertEqual(value_of(node.priority), 3)
        with NodeBuilder() as builder:
            ok(lib.node_builder_node, builder.handle, text(data))
            self.assertEqual(builder.finish(), data)
        ok(lib.node_validate, text(data[:-1]), expect=lib.E_INVALID_RECORD)

    def test_order_of_keys(self):
        keys = ["-5", "2", "10", "010", "a", "\U0001f600", "\uffee"]
        for left, right in zip(keys, keys[1:]):
            self.assertLess(lib.node_compare_keys(text(left), text(right)), 0, (left, right))
        self.assertEqual(lib.node_compare_keys(text("a"), text("a")), 0)


class Trees(LarderTest):
    def test_reading(self):
        with Store() as store:
            with store.write() as txn:
                tree = Tree(txn)
                tree.put("", {key: number for number, key in enumerate("abcde")})
                self.assertEqual(tree.whole("b"), 1)
                changes = (lib.t_node_change * 2)()
                changes[0].path, changes[0].node = text("a"), text("")
                changes[1].path, changes[1].node = text("f/g"), text(encoded("new"))
                ok(lib.node_merge, txn, tree.number, text(""), changes, 2)
                self.assertEqual(
                    tree.whole(), {"b": 1, "c": 2, "d": 3, "e": 4, "f": {"g": "new"}}
                )
                tree.put("f", None)
                count, usage = ctypes.c_int64(), lib.t_usage()
                ok(lib.node_count, txn, tree.number, text(""), byref(count))
                self.assertEqual(count.value, 4)
                ok(lib.node_usage, txn, tree.number, text(""), byref(usage))
                keys = (lib.t_bytes * 2)(text("c"), text("absent"))
                self.assertEqual(
                    tree.read(lib.node_read_children, text(""), keys, 2)[1], {"c": 2}
                )
                page = sized(lib.t_node_page)
                page.after, page.max_count = text("b"), 2
                status, found = tree.read(
                    lib.node_read_page, text(""), byref(page), expect=MORE
                )
                self.assertEqual(found, {"c": 2, "d": 3})
                window = sized(lib.t_node_window)
                window.index, window.limit, window.from_end = lib.NODE_INDEX_VALUE, 2, 1
                window.end.given, window.end.value = 1, leaf(3)
                window.end.key_kind = lib.NODE_KEY_MAX
                self.assertEqual(
                    tree.read(lib.node_read_window, text(""), byref(window))[1],
                    {"c": 2, "d": 3},
                )
                self.assertIsNone(tree.whole("absent"))
            with store.read() as txn:
                number, name = ctypes.c_uint64(), lib.t_bytes()
                ok(lib.node_tree_find, txn, text("scores"), byref(number))
                self.assertEqual(number.value, tree.number)
                ok(lib.node_tree_find, txn, text("x"), byref(number), expect=NOT_FOUND)
                ok(lib.node_tree_next, txn, 0, byref(number), byref(name))
                self.assertEqual(take(name), b"scores")
                ok(
                    lib.node_tree_next, txn, number.value, byref(number), byref(name),
                    expect=END,
                )

    def query(self, query_id, path, flags=0):
        query = sized(lib.t_node_query)
        query.query_id, query.flags, query.last_use = query_id, flags, time_of(5)
        query.path, query.payload = text(path), text("{}")
        return query

    def test_tracked_queries(self):
        with Store() as store:
            with store.write() as txn:
                tree = Tree(txn)
                number = tree.number
                keyed = self.query(1, "a", lib.NODE_QUERY_KEYED | lib.NODE_QUERY_COMPLETE)
                ok(lib.node_query_put, txn, number, byref(keyed))
                ok(lib.node_query_put, txn, number, byref(self.query(2, "b")))
                added = (lib.t_bytes * 2)(text("x"), text("y"))
                removed = (lib.t_bytes * 1)(text("x"))
                change = lib.node_query_change_keys
                ok(change, txn, number, 1, None, 0, added, 2)
                ok(change, txn, number, 1, removed, 1, None, 0)
                ok(change, txn, number, 3, removed, 1, None, 0, expect=NOT_FOUND)
                self.assertEqual(tree.read(lib.node_query_keys, 1)[1], {"y": True})
                ok(lib.node_query_touch, txn, number, 2)
                found = sized(lib.t_node_query)
                ok(lib.node_query_get, txn, number, 1, byref(found))
                self.assertEqual((take(found.path), pair(found.last_use)), (b"a", (5, 0)))
                ok(lib.node_query_next, txn, number, 1, byref(found))
                self.assertEqual((found.query_id, take(found.payload)), (2, b"{}"))
                ok(lib.node_query_remove, txn, number, 1)
                ok(lib.node_query_get, txn, number, 1, byref(found), expect=NOT_FOUND)

    def test_eviction(self):
        with Store() as store:
            with store.write() as txn:
                tree = Tree(txn)
                tree.put("kept", {f"k{n:04}": "x" * 50 for n in range(200)})
                tree.put("gone", {f"k{n:04}": "x" * 50 for n in range(200)})
                ok(lib.node_query_put, txn, tree.number, byref(self.query(1, "kept")))
                ok(lib.node_query_put, txn, tree.number, byref(self.query(2, "gone")))
            self.assertEqual(lib.lru_commit_number(store.env), 0)
            ok(lib.node_pin, store.env, tree.number, text("kept"))
            result = sized(lib.t_lru_result)
            while ok(lib.lru_step, store.env, 0, 0, 0, byref(result), expect=(0, MORE)):
                pass
            self.assertGreater(lib.lru_commit_number(store.env), 0)
            with store.write() as txn:
                self.assertEqual(len(Tree(txn).whole("kept")), 200)
                self.assertIsNone(Tree(txn).whole("gone"))
            ok(lib.node_unpin, store.env, tree.number, text("kept"))
            ok(lib.node_unpin, store.env, tree.number, text("kept"), expect=NOT_FOUND)

    def test_sweep(self):
        """Only data that no query keeps goes, however small the store is allowed to be."""
        with Store() as store:
            with store.write() as txn:
                tree = Tree(txn)
                for query_id, name in ((1, "kept"), (2, "gone")):
                    tree.put(name, {f"k{n:04}": "x" * 50 for n in range(200)})
                    ok(lib.node_query_put, txn, tree.number, byref(self.query(query_id, name)))
            result = sized(lib.t_lru_result)
            ok(lib.lru_sweep, store.env, 0, 0, byref(result))
            with store.write() as txn:
                self.assertEqual(len(Tree(txn).whole("gone")), 200)
                ok(lib.node_query_remove, txn, tree.number, 2)
            while ok(lib.lru_sweep, store.env, 0, 0, byref(result), expect=(0, MORE)):
                pass
            with store.write() as txn:
                self.assertEqual(len(Tree(txn).whole("kept")), 200)
                self.assertIsNone(Tree(txn).whole("gone"))

    def test_writes(self):
        with Store() as store:
            with store.write() as txn:
                number, pending = Tree(txn).number, lib.NODE_WRITE_PENDING
                write = sized(lib.t_node_write)
                write.time = time_of(9)
                for write_id, payload in ((1, "first"), (2, "second")):
                    write.write_id, write.payload = write_id, text(payload)
                    ok(lib.node_write_put, txn, number, pending, byref(write))
                found = sized(lib.t_node_write)
                ok(lib.node_write_get, txn, number, pending, 1, byref(found))
                self.assertEqual((take(found.payload), pair(found.time)), (b"first", (9, 0)))
                ok(lib.node_write_next, txn, number, pending, 1, byref(found))
                self.assertEqual(found.write_id, 2)
                ok(lib.node_write_remove, txn, number, pending, 2)
                ok(lib.node_write_next, txn, number, pending, 1, byref(found), expect=END)
                refused = lib.NODE_WRITE_REFUSED
                ok(lib.node_write_get, txn, number, refused, 1, byref(found), expect=NOT_FOUND)
                highest = ctypes.c_int64()
                ok(lib.node_write_highest_id, txn, number, byref(highest))
                self.assertEqual(highest.value, 2)

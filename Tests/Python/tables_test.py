"""Mutations, overlays, targets, named values, indexes and sets."""

import ctypes
from ctypes import byref

from binding import (
    END, MORE, NOT_FOUND, OK, LarderTest, Store, default_options, encode, fields_of, ids, lib,
    names, ok, pair, path, plain, put, scan_options, sized, take, text, time_of, two_calls,
)  # fmt: skip


class Mutations(LarderTest):
    def append(self, txn, user, *documents, payload=b"payload"):
        array = (lib.t_mutation_document * max(len(documents), 1))()
        for at, name in enumerate(documents):
            array[at].name = text(name)
            array[at].base_version = time_of(at + 1)
        batch_id = ctypes.c_int64()
        ok(
            lib.mutation_append, txn, text(user), time_of(100, 5), array, len(documents),
            text(payload), byref(batch_id),
        )
        return batch_id.value

    def test_queues(self):
        with Store() as store:
            with store.write() as txn:
                first = self.append(txn, "ann", "cities/SF", "cities/LA")
                second = self.append(txn, "ben", "cities/SF")
                third = self.append(txn, "ann", "cities/SF", payload=b"third")
                self.assertLess(first, second)
                self.assertLess(second, third)
                ok(
                    lib.mutation_record_attempt, txn, text("ann"), third, time_of(200),
                    text("unavailable"),
                )
            with store.read() as txn:
                batch = lib.t_batch()
                ok(lib.mutation_get, txn, text("ann"), first, byref(batch))
                self.assertEqual(take(batch.payload), b"payload")
                self.assertEqual(pair(batch.local_write_time), (100, 5))
                self.assertEqual(batch.document_count, 2)
                document = lib.t_mutation_document()
                self.assertEqual(
                    lib.batch_get_document(byref(batch), 1, byref(document)), OK
                )
                self.assertEqual(take(document.name), b"cities/LA")
                self.assertEqual(pair(document.base_version), (2, 0))
                ok(lib.mutation_next, txn, text("ann"), first, byref(batch))
                self.assertEqual((batch.batch_id, batch.attempt_count), (third, 1))
                self.assertEqual(take(batch.last_error), b"unavailable")
                self.assertEqual(pair(batch.last_attempt), (200, 0))
                ok(lib.mutation_next, txn, text("ann"), third, byref(batch), expect=END)
                find = lib.mutation_find_document
                self.assertEqual(ids(find, txn, text("ann"), text("cities/SF")), [first, third])
                self.assertEqual(ids(find, txn, text("ann"), text("cities/LA")), [first])
                touching, found = (txn, text("ann"), text("cities/SF")), ctypes.c_int64()
                ok(lib.mutation_next_touching, *touching, first, byref(found))
                self.assertEqual(found.value, third)
                ok(lib.mutation_next_touching, *touching, third, byref(found), expect=END)
                self.assertEqual(
                    ids(lib.mutation_find_collection, txn, text("ann"), text("cities")),
                    [first, third],
                )
                count = ctypes.c_int64()
                ok(lib.mutation_count, txn, text("ann"), byref(count))
                self.assertEqual(count.value, 2)
                user = lib.t_bytes()
                users = []
                after = lib.t_bytes()
                ok(lib.mutation_next_user, txn, None, byref(user))
                while True:
                    users.append(take(user))
                    after = text(users[-1])
                    if ok(
                        lib.mutation_next_user, txn, byref(after), byref(user), expect=(OK, END)
                    ) == END:
                        break
                self.assertEqual(users, [b"ann", b"ben"])
            with store.write() as txn:
                ok(lib.mutation_remove, txn, text("ann"), first)
                ok(lib.mutation_remove, txn, text("ann"), first, expect=NOT_FOUND)
                self.assertEqual(ids(find, txn, text("ann"), text("cities/LA")), [])
                self.assertGreater(self.append(txn, "ann", "cities/SF"), third)


class Overlays(LarderTest):
    def put(self, txn, user, name, batch, fields, payload=b"mutation"):
        record = b"" if fields is None else plain(fields)
        ok(
            lib.overlay_put, txn, text(user), text(name), batch, text(record), text(payload)
        )

    def test_views(self):
        with Store() as store:
            with store.write() as txn:
                put(txn, "cities/SF", {"a": 1})
                put(txn, "cities/LA", {"a": 1})
                self.put(txn, "ann", "cities/SF", 3, {"a": 2})
                self.put(txn, "ann", "cities/LA", 4, None)
                self.put(txn, "ann", "cities/NY", 4, {"new": True})
            with store.read() as txn:
                view, payload = lib.t_document(), lib.t_bytes()
                ok(
                    lib.overlay_get, txn, text("ann"), text("cities/SF"), byref(view),
                    byref(payload),
                )
                self.assertEqual(fields_of(view.record), {"a": 2})
                self.assertEqual(view.batch_id, 3)
                self.assertEqual(view.flags, lib.DOCUMENT_LOCAL_MUTATIONS)
                self.assertEqual(take(payload), b"mutation")
                get_local = lib.document_get_local
                ok(get_local, txn, text("ann"), text("cities/LA"), byref(view))
                self.assertEqual(view.state, lib.DOCUMENT_ABSENT)
                ok(get_local, txn, text("ben"), text("cities/LA"), byref(view))
                self.assertEqual(view.state, lib.DOCUMENT_FOUND)
                local = scan_options(flags=lib.SCAN_LOCAL_VIEW, user=text("ann"))
                self.assertEqual(
                    names(lib.scan_collection, txn, text("cities"), byref(local)),
                    ["cities/NY", "cities/SF"],
                )

                def overlays(call, key, since):
                    return names(call, txn, text("ann"), text(key), since)

                by_collection = lib.overlay_scan_collection
                self.assertEqual(
                    overlays(by_collection, "cities", 0), ["cities/LA", "cities/NY", "cities/SF"]
                )
                self.assertEqual(
                    overlays(by_collection, "cities", 3), ["cities/LA", "cities/NY"]
                )
                self.assertEqual(len(overlays(lib.overlay_scan_group, "cities", 0)), 3)
                self.assertEqual(
                    names(lib.overlay_scan_batch, txn, text("ann"), 4), ["cities/LA", "cities/NY"]
                )
            with store.write() as txn:
                ok(lib.overlay_remove, txn, text("ann"), text("cities/SF"))
                removed = ctypes.c_int64()
                ok(lib.overlay_remove_batch, txn, text("ann"), 4, byref(removed))
                self.assertEqual(removed.value, 2)
                ok(
                    lib.overlay_get, txn, text("ann"), text("cities/NY"), byref(view),
                    byref(payload), expect=NOT_FOUND,
                )


class Targets(LarderTest):
    def target(self, target_id, canonical=b"cities|f:|ob:__name__"):
        target = sized(lib.t_target)
        target.target_id = target_id
        target.sequence_number = target_id * 10
        target.snapshot_version = time_of(7)
        target.limbo_free_version = time_of(6)
        target.resume_token = text(b"token")
        target.canonical_id = text(canonical)
        target.query = text(b"query")
        return target

    def test_targets_and_their_documents(self):
        with Store() as store:
            with store.write() as txn:
                ok(lib.target_put, txn, byref(self.target(2)))
                ok(lib.target_put, txn, byref(self.target(4, b"other")))
                put(txn, "cities/SF", {"a": 1})
                for name in ("cities/SF", "cities/not-read"):
                    ok(lib.target_add_document, txn, 2, text(name))
                ok(lib.target_add_document, txn, 4, text("cities/SF"))
            with store.read() as txn:
                target = sized(lib.t_target)
                ok(lib.target_get, txn, 2, byref(target))
                self.assertEqual(take(target.resume_token), b"token")
                self.assertEqual(take(target.query), b"query")
                self.assertEqual(pair(target.snapshot_version), (7, 0))
                self.assertEqual(pair(target.limbo_free_version), (6, 0))
                self.assertEqual(target.sequence_number, 20)
                i32 = ctypes.c_int32
                self.assertEqual(ids(lib.target_find, txn, text("other"), kind=i32), [4])
                ok(lib.target_next, txn, 2, byref(target))
                self.assertEqual(target.target_id, 4)
                ok(lib.target_next, txn, 4, byref(target), expect=END)
                highest = i32()
                ok(lib.target_highest_id, txn, byref(highest))
                self.assertEqual(highest.value, 4)
                count = ctypes.c_int64()
                ok(lib.target_document_count, txn, 2, byref(count))
                self.assertEqual(count.value, 2)
                self.assertEqual(names(lib.target_scan, txn, 2, default_options()), ["cities/SF"])
                every = scan_options(flags=lib.SCAN_ALL_STATES)
                self.assertEqual(
                    names(lib.target_scan, txn, 2, byref(every)), ["cities/SF", "cities/not-read"]
                )
                self.assertEqual(
                    ids(lib.target_find_document, txn, text("cities/SF"), kind=i32), [2, 4]
                )
            with store.write() as txn:
                ok(lib.target_remove_document, txn, 2, text("cities/SF"))
                ok(lib.target_remove, txn, 4)
                ok(lib.target_get, txn, 4, byref(target), expect=NOT_FOUND)
                self.assertEqual(
                    ids(lib.target_find_document, txn, text("cities/SF"), kind=i32), []
                )
                ok(lib.target_highest_id, txn, byref(highest))
                self.assertEqual(highest.value, 4)

    def test_many_documents_of_a_target_at_once(self):
        def array(*paths):
            return (lib.t_bytes * len(paths))(*[text(path) for path in paths])

        with Store() as store:
            every = scan_options(flags=lib.SCAN_ALL_STATES)
            change = lib.target_change_documents
            with store.write() as txn:
                ok(lib.target_put, txn, byref(self.target(2)))
                ok(change, txn, 2, None, 0, array("cities/SF", "cities/LA", "cities/SF"), 3)
                self.assertEqual(
                    names(lib.target_scan, txn, 2, byref(every)), ["cities/LA", "cities/SF"]
                )
                # What is removed and added stays; what is not there is no error.
                ok(
                    change, txn, 2, array("cities/LA", "cities/SF", "cities/none"), 3,
                    array("cities/NY", "cities/SF"), 2,
                )
                self.assertEqual(
                    names(lib.target_scan, txn, 2, byref(every)), ["cities/NY", "cities/SF"]
                )
                ok(change, txn, 3, None, 0, array("cities/SF"), 1, expect=NOT_FOUND)
                ok(change, txn, 2, None, 0, array("cities"), 1, expect=lib.E_INVALID_NAME)

    def test_named_values(self):
        with Store() as store:
            query = lib.NAMED_QUERY
            with store.write() as txn:
                for name in ("latest", "all"):
                    ok(
                        lib.named_put, txn, query, text(name), time_of(9), text(name + " query")
                    )
                ok(lib.named_put, txn, lib.NAMED_GLOBAL, text("x"), time_of(0), text("y"))
            with store.read() as txn:
                time, payload, name = lib.t_time(), lib.t_bytes(), lib.t_bytes()
                ok(lib.named_get, txn, query, text("all"), byref(time), byref(payload))
                self.assertEqual((pair(time), take(payload)), ((9, 0), b"all query"))
                found, after = [], b""
                while ok(
                    lib.named_next, txn, query, text(after), byref(name), byref(time),
                    byref(payload), expect=(OK, END),
                ) == OK:
                    after = take(name)
                    found.append(after)
                self.assertEqual(found, [b"all", b"latest"])
            with store.write() as txn:
                ok(lib.named_remove, txn, query, text("all"))
                ok(
                    lib.named_get, txn, query, text("all"), byref(time), byref(payload),
                    expect=NOT_FOUND,
                )


class Indexes(LarderTest):
    def define(self, txn, group, *segments):
        array = (lib.t_index_segment * len(segments))()
        for at, (field, kind) in enumerate(segments):
            array[at].field_path = text(path(field))
            array[at].kind = kind
        index_id = ctypes.c_uint32()
        ok(lib.index_define, txn, text(group), array, len(segments), byref(index_id))
        return index_id.value

    def order(self, value):
        return two_calls(lib.order_encode, text(encode(value)), lib.ORDER_ASCENDING)

    def fill(self, store):
        with store.write() as txn:
            for number in range(30):
                put(
                    txn, f"cities/{number:02}",
                    {"size": number % 3, "number": number, "tags": ["all", f"t{number % 2}"]},
                )

    def scan(self, txn, index_id, low, high, flags=0):
        options = scan_options(flags=flags | lib.SCAN_END_AT, start=text(low), end=text(high))
        return names(lib.index_scan, txn, index_id, text("cities"), byref(options))

    def test_back_fill_maintenance_and_scans(self):
        with Store() as store:
            self.fill(store)
            with store.write() as txn:
                index_id = self.define(
                    txn, "cities", ("size", lib.SEGMENT_ASCENDING),
                    ("number", lib.SEGMENT_DESCENDING),
                )
                again = self.define(
                    txn, "cities", ("size", lib.SEGMENT_ASCENDING),
                    ("number", lib.SEGMENT_DESCENDING),
                )
                self.assertEqual(again, index_id)
                index = lib.t_index()
                ok(lib.index_get, txn, index_id, byref(index))
                self.assertEqual((index.complete, index.segment_count), (0, 2))
                self.assertEqual(take(index.segments[1].field_path), path("number"))
                done, total = ctypes.c_int64(), ctypes.c_int64()
                steps = 0
                while ok(
                    lib.index_backfill, txn, index_id, 7, 0, byref(done), byref(total),
                    expect=(OK, MORE),
                ) == MORE:
                    steps += 1
                    self.assertLess(steps, 50)
                self.assertGreater(steps, 2, "steps are bounded")
                self.assertEqual((done.value, total.value), (30, 30))
                # Maintained from here on.
                put(txn, "cities/30", {"size": 0, "number": 30, "tags": []})
                put(txn, "cities/00", {"size": 1, "number": 0, "tags": []})
            with store.read() as txn:
                ok(lib.index_get, txn, index_id, byref(index))
                self.assertEqual((index.complete, index.entry_count), (1, 31))
                self.assertGreater(index.size_bytes, 0)
                ok(lib.index_next, txn, 0, byref(index))
                self.assertEqual(index.index_id, index_id)
                ok(lib.index_next, txn, index_id, byref(index), expect=END)
                zero = self.order(0)
                expected = [f"cities/{number:02}" for number in range(30, 0, -3)]
                self.assertEqual(self.scan(txn, index_id, zero, zero), expected)
                self.assertEqual(
                    self.scan(txn, index_id, zero, zero, lib.SCAN_REVERSE), expected[::-1]
                )
                scan, document = ctypes.POINTER(lib.t_scan)(), lib.t_document()
                entry = lib.t_bytes()
                ok(lib.index_scan, txn, index_id, text(b""), default_options(), byref(scan))
                ok(lib.scan_next, scan, byref(document))
                ok(lib.index_scan_entry, scan, byref(entry))
                self.assertTrue(take(entry).startswith(zero))
                lib.scan_close(scan)
            with store.write() as txn:
                ok(lib.index_drop, txn, index_id, 10, expect=MORE)
                ok(lib.index_get, txn, index_id, byref(index), expect=NOT_FOUND)
                ok(lib.index_drop, txn, index_id, 0)

    def test_sets(self):
        with Store() as store:
            with store.write() as txn:
                by_size = self.define(txn, "cities", ("size", lib.SEGMENT_ASCENDING))
                by_tag = self.define(txn, "cities", ("tags", lib.SEGMENT_CONTAINS))
            self.fill(store)
            with store.read() as txn:

                def found(index_id, value):
                    options = scan_options(
                        flags=lib.SCAN_KEYS_ONLY | lib.SCAN_END_AT, start=text(self.order(value)),
                        end=text(self.order(value)),
                    )
                    scan, result = ctypes.POINTER(lib.t_scan)(), ctypes.POINTER(lib.t_set)()
                    ok(lib.index_scan, txn, index_id, text("cities"), byref(options), byref(scan))
                    ok(lib.set_create, txn, byref(result))
                    ok(lib.set_add_scan, result, scan)
                    lib.scan_close(scan)
                    return result

                sets = [found(by_size, 0), found(by_tag, "t0"), found(by_size, 1)]
                self.assertEqual([lib.set_count(s) for s in sets], [10, 15, 10])
                ok(lib.set_intersect, sets[0], sets[1])
                self.assertEqual(
                    names(lib.set_scan, sets[0], default_options()),
                    [f"cities/{number:02}" for number in range(0, 30, 6)],
                )
                ok(lib.set_union, sets[0], sets[2])
                self.assertEqual(lib.set_count(sets[0]), 15)
                for one in sets:
                    lib.set_close(one)

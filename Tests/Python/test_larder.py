#!/usr/bin/env python3
"""Drives the installed C library through every noun of larder.h by ctypes, as a binding would.

    test_larder.py [LIBRARY [HEADER]]

LIBRARY is liblarder.so (default: $LARDER_LIBRARY), HEADER its larder.h (default: ../include
beside the library). Nothing but Python's own library is needed. At the end every function that
the header declares must have been called.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from ctypes import byref

from binding import (
    COLD, END, MORE, NOT_FOUND, OK, STOPPED,
    Builder, Failure, GeoPoint, Reference, ServerTimestamp, Store, Timestamp, Vector,
    decode, default_options, encode, field_of, fields_of, fields_of_loaded, get, ids, lib, names,
    ok, opened, pair, path, plain, put, scan_options, sized, take, text, time_of, two_calls,
)  # fmt: skip


class LarderTest(unittest.TestCase):
    def setUp(self):
        self.handles = lib.live_handle_count()
        self.directory = tempfile.mkdtemp(prefix="larder-python-")
        self.addCleanup(shutil.rmtree, self.directory)
        text.alive.clear()

    def tearDown(self):
        self.assertEqual(lib.live_handle_count(), self.handles, "handles are left open")

    def where(self, name):
        return os.path.join(self.directory, name)


class A_Interface(LarderTest):
    def test_structures_are_laid_out_as_the_c_compiler_does(self):
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if not compiler:
            self.skipTest("no C compiler here")
        program = self.where("layout")
        subprocess.run(
            [compiler, "-I", os.path.dirname(lib.header_path), "-x", "c", "-", "-o", program],
            input=lib.header.layout_program().encode(),
            check=True,
        )
        lines = subprocess.run([program], capture_output=True, check=True).stdout.decode()
        self.assertEqual(lines.splitlines(), lib.header.layout())
        self.assertGreater(len(lines.splitlines()), 150)

    def test_versions(self):
        numbers = (lib.VERSION_MAJOR, lib.VERSION_MINOR, lib.VERSION_PATCH)
        self.assertEqual(lib.version().decode(), "%d.%d.%d" % numbers)
        self.assertEqual(lib.version_number(), numbers[0] << 16 | numbers[1] << 8 | numbers[2])
        self.assertEqual(lib.format_version(), lib.FORMAT_VERSION)

    def test_every_status_has_a_name_and_a_sentence(self):
        statuses = {
            name: value
            for name, value in lib.header.constants.items()
            if name.startswith("LARDER_E_") or value == 0 and name == "LARDER_OK"
        }
        self.assertGreater(len(statuses), 25)
        sentences = set()
        for name, value in statuses.items():
            self.assertEqual(lib.status_name(value).decode(), name.removeprefix("LARDER_"))
            sentences.add(lib.strerror(value))
        self.assertEqual(len(sentences), len(statuses), "two statuses have one sentence")
        self.assertEqual(lib.status_name(-9999), b"unknown")
        self.assertTrue(lib.strerror(-9999))

    def test_limits_are_functions_too(self):
        self.assertEqual(lib.limit_name_bytes(), lib.NAME_MAX_BYTES)
        self.assertEqual(lib.limit_id_bytes(), lib.ID_MAX_BYTES)
        self.assertEqual(lib.limit_document_bytes(), lib.DOCUMENT_MAX_BYTES)
        self.assertEqual(lib.limit_depth(), lib.DEPTH_MAX)
        self.assertEqual(lib.limit_budget_bytes(), lib.BUDGET_MIN_BYTES)


class B_Environment(LarderTest):
    def test_options_have_the_documented_defaults(self):
        options = lib.t_env_options()
        lib.env_options_init(byref(options), ctypes.sizeof(options))
        self.assertEqual(options.struct_bytes, ctypes.sizeof(options))
        self.assertEqual(options.flags, lib.OPEN_CREATE)
        self.assertEqual(options.durability, lib.DURABILITY_EVERY_COMMIT)
        self.assertEqual(options.budget_bytes, lib.BUDGET_UNLIMITED)
        self.assertEqual(options.compression_level, 1)
        self.assertEqual(options.automatic_training, 1)
        self.assertEqual(options.log_level, lib.LOG_WARNING)

    def test_opening(self):
        where = self.where("store")
        with self.assertRaises(Failure) as caught:
            Store(where, flags=0)
        self.assertEqual(caught.exception.status, lib.E_NO_STORE)
        with Store(where) as store:
            self.assertEqual(lib.env_path(store.env), where.encode())
            with self.assertRaises(Failure) as caught:
                Store(where)
            self.assertEqual(caught.exception.status, lib.E_ALREADY_OPEN)
            with store.write() as txn:
                put(txn, "cities/SF", {"population": 860000})
            ok(lib.env_sync, store.env)
        with Store(where, flags=lib.OPEN_READ_ONLY) as store:
            with store.read() as txn:
                self.assertEqual(fields_of(get(txn, "cities/SF").record), {"population": 860000})
            txn = ctypes.POINTER(lib.t_txn)()
            ok(lib.txn_begin_write, store.env, byref(txn), expect=lib.E_READ_ONLY)
        with open(self.where("foreign"), "w", encoding="utf-8") as file:
            file.write("not a directory")
        with self.assertRaises(Failure):
            Store(self.where("foreign"))

    def test_budget_and_statistics(self):
        with Store() as store:
            self.assertEqual(lib.env_path(store.env), b"")
            ok(lib.env_set_budget, store.env, 1000, expect=lib.E_INVALID_ARGUMENT)
            ok(lib.env_set_budget, store.env, 2 << 20)
            with store.write() as txn:
                for number in range(10):
                    put(txn, f"cities/{number}", {"number": number})
                put(txn, "cities/gone", None, state=lib.DOCUMENT_ABSENT)
            with store.read() as txn:
                stat = sized(lib.t_stat)
                ok(lib.env_stat, txn, byref(stat))
            self.assertEqual(stat.budget_bytes, 2 << 20)
            self.assertEqual(stat.document_count, 10)
            self.assertEqual(stat.absent_count, 1)
            self.assertEqual(stat.collection_count, 1)
            self.assertEqual(stat.format_version, lib.FORMAT_VERSION)
            parts = ("documents", "overlays", "mutations", "indexes", "targets", "nodes", "catalog")
            self.assertEqual(
                stat.total_bytes, sum(getattr(stat, part).size_bytes for part in parts)
            )
            self.assertGreaterEqual(stat.documents.row_count, 11)
            self.assertGreaterEqual(stat.file_bytes, stat.total_bytes)

    def test_copies(self):
        with Store(self.where("store")) as store:
            with store.write() as txn:
                for number in range(200):
                    put(txn, f"cities/{number}", {"number": number, "text": "x" * 500})
            seen = []

            def count(_, done, total):
                seen.append((done, total))
                return 0

            progress = lib.t_progress_function(count)
            ok(lib.env_copy, store.env, os.fsencode(self.where("copy")), progress, None)
            ok(lib.env_compact, store.env, os.fsencode(self.where("compact")), progress, None)
            self.assertTrue(seen)
            self.assertEqual(sorted(done for done, _ in seen[-1:]), [seen[-1][0]])
            refuse = lib.t_progress_function(lambda *_: 1)
            ok(
                lib.env_copy, store.env, os.fsencode(self.where("stopped")), refuse, None,
                expect=STOPPED,
            )
            error = lib.t_error()
            none = lib.t_progress_function()
            status = lib.env_copy(
                store.env, os.fsencode(self.where("copy")), none, None, byref(error)
            )
            self.assertLess(status, 0, "a copy must not overwrite a store")
        for name in ("copy", "compact"):
            with Store(self.where(name), flags=0) as copy, copy.read() as txn:
                options = default_options()
                self.assertEqual(len(names(lib.scan_collection, txn, text("cities"), options)), 200)
                self.assertEqual(fields_of_loaded(get(txn, "cities/7").record)["number"], 7)

    def test_log_and_allocator(self):
        lines, live = [], {}
        malloc = ctypes.CDLL(None).malloc
        malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        fields = dict(lib.t_allocator._fields_)

        def allocate(_, size):
            memory = malloc(size)
            live[memory] = size
            return memory

        def release(_, memory):
            if memory:
                del live[memory]
                free(memory)

        allocator = lib.t_allocator(
            None, fields["allocate"](allocate), fields["release"](release)
        )
        log = lib.t_log_function(lambda _, level, message: lines.append((level, message)))
        made = []
        with Store(
            self.where("store"), allocator=ctypes.pointer(allocator), log=log,
            log_level=lib.LOG_DEBUG,
        ) as store:
            with store.write() as txn:
                put(txn, "cities/SF", {"a": 1})
            made.append(len(live))
        self.assertGreater(made[0], 0, "the allocator is used")
        self.assertEqual(live, {}, "and everything comes back to it")
        for level, message in lines:
            self.assertIn(level, range(lib.LOG_DEBUG + 1))
            self.assertNotIn(b"\n", message)


class C_Transactions(LarderTest):
    def test_a_read_sees_one_commit(self):
        with Store() as store:
            with store.write() as txn:
                put(txn, "cities/SF", {"a": 1})
                written = lib.txn_commit_number(txn)
                # A write sees its own changes.
                self.assertIsNotNone(get(txn, "cities/SF"))
            with store.read() as before:
                self.assertEqual(lib.txn_commit_number(before), written)
                self.assertEqual(
                    ctypes.addressof(lib.txn_env(before).contents),
                    ctypes.addressof(store.env.contents),
                )
                with store.write() as txn:
                    put(txn, "cities/LA", {"a": 2})
                self.assertIsNone(get(before, "cities/LA"))
                ok(lib.env_close, store.env, expect=lib.E_BUSY)
            with store.read() as after:
                self.assertIsNotNone(get(after, "cities/LA"))
                self.assertEqual(lib.txn_commit_number(after), written + 1)

    def test_abort_leaves_nothing(self):
        with Store() as store:
            with self.assertRaises(ZeroDivisionError), store.write() as txn:
                put(txn, "cities/SF", {"a": 1})
                raise ZeroDivisionError
            with store.read() as txn:
                self.assertIsNone(get(txn, "cities/SF"))

    def test_threads(self):
        with Store() as store, store.write() as txn:
            second = ctypes.POINTER(lib.t_txn)()
            ok(lib.txn_begin_write, store.env, byref(second), expect=lib.E_BUSY)
            statuses = []

            def elsewhere():
                info = lib.t_document_info()
                lib.document_info_init(byref(info), ctypes.sizeof(info))
                info.state = lib.DOCUMENT_ABSENT
                info.version = info.read_time = time_of(1)
                error = lib.t_error()
                statuses.append(
                    lib.document_put(txn, text("a/b"), byref(info), text(b""), byref(error))
                )

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            self.assertEqual(statuses, [lib.E_WRONG_THREAD])


class D_Values(LarderTest):
    samples = [
        None, False, True, -(2**63), -1, 0, 2**63 - 1, -1.5, 0.25, float("inf"),
        Timestamp((-62135596800, 0)), Timestamp((1, 999999999)),
        "", "é\U0001F600", b"", b"\x00\xff", Reference("projects/p/databases/d/documents/a/b"),
        GeoPoint((37.77, -122.41)), [], [1, "a", [2]], Vector([1.0, -2.5]),
        {}, {"b": 1, "a": {"c": None}},
    ]  # fmt: skip

    def test_every_type_goes_in_and_comes_out(self):
        for sample in self.samples:
            encoded = encode(sample)
            value = text(encoded)
            ok(lib.value_validate, value, 20)
            decoded = decode(value)
            self.assertEqual((type(decoded), decoded), (type(sample), sample))
            self.assertEqual(lib.value_equal(value, text(encoded)), 1)
            self.assertEqual(lib.value_compare(value, text(encoded)), 0)
            with Builder() as builder:
                ok(lib.builder_value, builder.handle, value)
                self.assertEqual(builder.finish_value(), encoded)

    def test_bytes_that_are_no_value(self):
        for junk in (b"", b"\xff", b"\x20abc", b"\x40\xff\xff\xff\xff"):
            ok(lib.value_validate, text(junk), 20, expect=lib.E_INVALID_RECORD)
            out = ctypes.c_double()
            self.assertLess(lib.value_get_double(text(junk), byref(out)), 0)
        out = ctypes.c_int64()
        self.assertEqual(
            lib.value_get_integer(text(encode("text")), byref(out)), lib.E_WRONG_TYPE
        )
        deep = []
        for _ in range(25):
            deep = {"a": deep}
        with Builder() as builder:
            ok(lib.value_validate, text(builder.value(deep)), 20, expect=lib.E_TOO_DEEP)

    def test_order_and_equality_differ(self):
        ordered = [
            None, False, True, float("nan"), float("-inf"), -1, -0.5, 0, 0.5, 1, 2**53 + 1,
            float("inf"), Timestamp((5, 0)), ServerTimestamp((1, b"")), "a", "aa", "b", b"a",
            Reference("projects/p/databases/d/documents/a/b"), GeoPoint((1.0, 2.0)), [1], [1, 0],
            Vector([1.0]), {}, {"a": 1}, {"a": 2}, {"b": 0},
        ]  # fmt: skip
        values = [text(encode(v)) for v in ordered]
        with Builder() as builder:
            ok(lib.builder_max, builder.handle)
            values.append(text(builder.finish_value()))
        self.assertEqual(lib.value_type(values[-1]), lib.TYPE_MAX)
        ascending = [two_calls(lib.order_encode, v, lib.ORDER_ASCENDING) for v in values]
        descending = [two_calls(lib.order_encode, v, lib.ORDER_DESCENDING) for v in values]
        self.assertEqual(ascending, sorted(ascending))
        self.assertEqual(descending, sorted(descending, reverse=True))
        for left in range(len(values)):
            for right in range(len(values)):
                order = lib.value_compare(values[left], values[right])
                self.assertEqual((order > 0) - (order < 0), (left > right) - (left < right))
        one, one_point_zero = text(encode(1)), text(encode(1.0))
        self.assertEqual(lib.value_compare(one, one_point_zero), 0)
        self.assertEqual(lib.value_equal(one, one_point_zero), 0)
        strings = [
            two_calls(lib.order_encode_type, lib.TYPE_STRING, end, lib.ORDER_ASCENDING)
            for end in (0, 1)
        ]
        inside = [strings[0] <= entry < strings[1] for entry in ascending[:-1]]
        self.assertEqual(inside, [isinstance(v, str) and type(v) is str for v in ordered])

    def test_server_timestamp_keeps_its_previous_value(self):
        previous = encode(7)
        pending = ServerTimestamp((12, previous))
        self.assertEqual(decode(text(encode(pending))), pending)

    def test_maps_are_searched_by_name(self):
        value = text(encode({"b": 1, "a": 2, "c": 3}))
        out = lib.t_bytes()
        self.assertEqual(lib.value_find(value, text("a"), byref(out)), OK)
        self.assertEqual(decode(out), 2)
        self.assertEqual(lib.value_find(value, text("z"), byref(out)), NOT_FOUND)

    def test_sizes_follow_firestores_rules(self):
        # A string counts its bytes and one more, a number 8, null and booleans 1.
        for sample, size in (("abc", 4), (5, 8), (1.5, 8), (None, 1), (True, 1), (b"abc", 3)):
            self.assertEqual(lib.value_size(text(encode(sample))), size, sample)
        self.assertEqual(lib.record_size(byref(opened(plain({"abc": 5})))), 4 + 8)


class E_FieldPaths(LarderTest):
    def test_text_and_segments(self):
        encoded = path("a", "odd.name", "back`tick")
        self.assertEqual(encoded, b"\x01a\x08odd.name\x09back`tick")
        formatted = two_calls(lib.path_format, text(encoded))
        self.assertEqual(formatted.decode(), "a.`odd.name`.`back\\`tick`")
        self.assertEqual(two_calls(lib.path_parse, text(formatted)), encoded)
        needed = ctypes.c_size_t()
        for wrong in ("", ".", "a..b", "a.", "`open"):
            error = lib.t_error()
            status = lib.path_parse(text(wrong), None, 0, byref(needed), byref(error))
            self.assertEqual(status, lib.E_INVALID_NAME, wrong)


class F_Records(LarderTest):
    city = {"name": "Zürich", "population": 434008, "at": GeoPoint((47.37, 8.54)), "m": {"x": [1]}}

    def test_fields_are_found_in_place(self):
        record = opened(plain(self.city))
        self.assertEqual(fields_of(record), self.city)
        self.assertEqual(lib.record_cold_bytes(byref(record)), 0)
        value, kind = lib.t_bytes(), ctypes.c_int32()
        field = field_of("m", "x")
        for _ in range(2):
            status = lib.record_find(byref(record), byref(field), byref(value), byref(kind))
            self.assertEqual(status, OK)
            self.assertEqual(decode(value), [1])
        missing = field_of("m", "y")
        status = lib.record_find(byref(record), byref(missing), byref(value), byref(kind))
        self.assertEqual(status, NOT_FOUND)

    def test_damaged_records_are_refused(self):
        good = plain(self.city)
        record = lib.t_record()
        for at in range(len(good)):
            status = ok(
                lib.record_open, text(good[:at]), 0, 0, byref(record),
                expect=lib.E_INVALID_RECORD,
            )
            self.assertEqual(status, lib.E_INVALID_RECORD)
        ok(lib.record_open, text(good), 0, 10, byref(record), expect=lib.E_TOO_LARGE)

    def test_names_twice_are_refused(self):
        with Builder() as builder:
            ok(lib.builder_begin_map, builder.handle)
            for _ in range(2):
                ok(lib.builder_name, builder.handle, text("a"))
                ok(lib.builder_null, builder.handle)
            error = lib.t_error()
            self.assertLess(lib.builder_end_map(builder.handle, byref(error)), 0)

    def test_patch(self):
        base = opened(plain({"a": 1, "m": {"x": 1, "y": 2}, "z": 0}))
        source = opened(plain({"m": {"x": 9}, "n": {"deep": True}}))
        mask = (lib.t_bytes * 4)(
            text(path("m", "x")), text(path("n", "deep")), text(path("z")), text(path("q", "r"))
        )
        out = lib.t_bytes()
        with Builder() as builder:
            ok(
                lib.record_patch, byref(base), byref(source), mask, 4, builder.handle, byref(out)
            )
            patched = opened(take(out))
        self.assertEqual(
            fields_of(patched), {"a": 1, "m": {"x": 9, "y": 2}, "n": {"deep": True}}
        )

    def test_large_values_go_cold_and_come_back(self):
        fields = {"small": 1, "large": "a long text, over and over. " * 400}
        with Store(cold_field_bytes=256) as store:
            with store.write() as txn:
                put(txn, "texts/one", fields)
            with store.read() as txn:
                record = get(txn, "texts/one").record
                value, kind = lib.t_bytes(), ctypes.c_int32()
                large, small = field_of("large"), field_of("small")
                found = (byref(value), byref(kind))
                self.assertEqual(lib.record_find(byref(record), byref(large), *found), COLD)
                self.assertEqual(kind.value, lib.TYPE_STRING)
                self.assertEqual(lib.record_find(byref(record), byref(small), *found), OK)
                size = lib.record_cold_bytes(byref(record))
                self.assertGreater(size, 10000)
                buffer = ctypes.create_string_buffer(size)
                loaded = lib.t_record()
                ok(lib.record_load, byref(record), buffer, size, byref(loaded))
                self.assertEqual(fields_of(loaded), fields)
                self.assertEqual(two_calls(lib.record_copy, byref(record)), plain(fields))
                self.assertEqual(
                    lib.record_size(byref(record)), lib.record_size(byref(opened(plain(fields))))
                )


class G_Documents(LarderTest):
    def test_states(self):
        with Store() as store:
            with store.write() as txn:
                put(txn, "cities/found", {"a": 1}, seconds=5)
                put(txn, "cities/absent", None, seconds=6, state=lib.DOCUMENT_ABSENT)
                put(txn, "cities/unknown", None, seconds=7, state=lib.DOCUMENT_UNKNOWN)
            with store.read() as txn:
                found = get(txn, "cities/found")
                self.assertEqual(found.state, lib.DOCUMENT_FOUND)
                self.assertEqual((take(found.collection), take(found.id)), (b"cities", b"found"))
                self.assertEqual(pair(found.version), (5, 0))
                self.assertEqual(pair(found.create_time), (1, 0))
                self.assertEqual(pair(found.read_time), (5, 0))
                self.assertGreater(found.stored_bytes, 0)
                self.assertEqual(get(txn, "cities/absent").state, lib.DOCUMENT_ABSENT)
                self.assertEqual(get(txn, "cities/unknown").state, lib.DOCUMENT_UNKNOWN)
                self.assertIsNone(get(txn, "cities/never"))
                view = lib.t_document()
                ok(
                    lib.document_get_local, txn, text("user"), text("cities/found"), byref(view)
                )
                self.assertEqual(fields_of(view.record), {"a": 1})
            with store.write() as txn:
                ok(lib.document_remove, txn, text("cities/found"))
                ok(lib.document_remove, txn, text("cities/found"), expect=NOT_FOUND)
                self.assertIsNone(get(txn, "cities/found"))

    def test_bad_names_and_records(self):
        with Store() as store, store.write() as txn:
            for name in ("", "cities", "cities//x", "/cities/SF", "cities/..", "a/__x__"):
                with self.assertRaises(Failure) as caught:
                    put(txn, name, {})
                self.assertEqual(caught.exception.status, lib.E_INVALID_NAME, name)
            info = lib.t_document_info()
            lib.document_info_init(byref(info), ctypes.sizeof(info))
            info.state = lib.DOCUMENT_FOUND
            ok(
                lib.document_put, txn, text("a/b"), byref(info), text(b"junk"),
                expect=lib.E_INVALID_RECORD,
            )
            # The transaction goes on.
            put(txn, "a/b", {"fine": True})

    def test_collections(self):
        with Store() as store:
            with store.write() as txn:
                for name in ("cities/SF", "cities/LA", "cities/SF/landmarks/bridge", "users/x"):
                    put(txn, name, {"a": 1})
            with store.read() as txn:
                collection = lib.t_collection()
                ok(lib.collection_get, txn, text("cities"), byref(collection))
                self.assertEqual(collection.document_count, 2)
                ok(lib.collection_get, txn, text("none"), byref(collection), expect=NOT_FOUND)

                def paths(parent):
                    scan, result = ctypes.POINTER(lib.t_scan)(), []
                    ok(lib.collection_scan, txn, text(parent), byref(scan))
                    while ok(
                        lib.collection_next, scan, byref(collection), expect=(OK, END)
                    ) == OK:
                        result.append(take(collection.path).decode())
                    lib.scan_close(scan)
                    return result

                self.assertEqual(paths(""), ["cities", "cities/SF/landmarks", "users"])
                self.assertEqual(paths("cities/SF"), ["cities/SF/landmarks"])

    def test_scans(self):
        with Store() as store:
            with store.write() as txn:
                for second, name in enumerate(("b", "a", "__id10__", "__id9__", "c"), 10):
                    put(txn, f"c/{name}", {"n": second}, seconds=second)
                put(txn, "d/x/c/deep", {"n": 0}, seconds=20)
                put(txn, "c/z", None, seconds=21, state=lib.DOCUMENT_ABSENT)
            with store.read() as txn:
                everything = ["c/__id9__", "c/__id10__", "c/a", "c/b", "c/c"]

                def scan(**options):
                    return names(
                        lib.scan_collection, txn, text("c"), byref(scan_options(**options))
                    )

                self.assertEqual(scan(), everything)
                self.assertEqual(scan(flags=lib.SCAN_REVERSE), everything[::-1])
                self.assertEqual(scan(flags=lib.SCAN_KEYS_ONLY), everything)
                self.assertEqual(scan(flags=lib.SCAN_ALL_STATES), everything + ["c/z"])
                self.assertEqual(scan(start=text("a"), end=text("c")), ["c/a", "c/b"])
                both = lib.SCAN_START_AFTER | lib.SCAN_END_AT
                self.assertEqual(
                    scan(start=text("a"), end=text("c"), flags=both), ["c/b", "c/c"]
                )
                self.assertEqual(
                    names(lib.scan_group, txn, text("c"), default_options()),
                    everything + ["d/x/c/deep"],
                )
                self.assertEqual(
                    names(
                        lib.scan_read_time, txn, text("c"), time_of(12), text("__id10__"),
                        default_options(),
                    ),
                    ["c/__id9__", "c/c"],
                )


class H_Mutations(LarderTest):
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


class I_Overlays(LarderTest):
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


class J_Targets(LarderTest):
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


class K_Indexes(LarderTest):
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


class L_Blobs(LarderTest):
    def test_frames(self):
        raw = b"many words, some of them twice. " * 300
        with Store() as store, store.read() as txn:
            frame = two_calls(lib.blob_compress, txn, text(raw))
            self.assertLess(len(frame), len(raw) // 4)
            back = two_calls(lib.blob_decompress, txn, text(frame), len(raw))
            self.assertEqual(back, raw)
            needed = ctypes.c_size_t()
            ok(
                lib.blob_decompress, txn, text(frame), 100, None, 0, byref(needed),
                expect=lib.E_TOO_LARGE,
            )
            buffer = ctypes.create_string_buffer(len(raw))
            for at in range(0, len(frame), 7):
                damaged = bytearray(frame)
                damaged[at] ^= 0x40
                error = lib.t_error()
                status = lib.blob_decompress(
                    txn, text(damaged), len(raw), buffer, len(raw), byref(needed), byref(error)
                )
                self.assertLess(status, 0, f"byte {at} changed unnoticed")

    def test_dictionaries(self):
        words = "river bridge market station cathedral harbour museum quarter avenue".split()
        with Store(cold_field_bytes=64, automatic_training=0) as store:
            with store.write() as txn:
                for number in range(3000):
                    chosen = [words[(number * k + k * k) % len(words)] for k in range(1, 40)]
                    put(txn, f"texts/{number}", {"number": number, "text": " ".join(chosen)})
            with store.write() as txn:
                result = lib.t_train_result()
                ok(lib.blob_train, txn, 0, 0, byref(result))
                self.assertGreater(result.dictionary_id, 0)
                self.assertLess(result.after_bytes, result.before_bytes)
            with store.write() as txn:
                cursor, changed = ctypes.c_uint64(0), ctypes.c_int64()
                repacked, steps = 0, 0
                while True:
                    status = ok(
                        lib.blob_repack, txn, 1000, byref(cursor), byref(changed),
                        expect=(OK, MORE),
                    )
                    repacked += changed.value
                    steps += 1
                    self.assertLess(steps, 20)
                    if status == OK:
                        break
                self.assertGreater(repacked, 2000)
            with store.read() as txn:
                dictionary = lib.t_dictionary()
                ok(lib.dictionary_next, txn, 0, byref(dictionary))
                self.assertEqual(dictionary.dictionary_id, result.dictionary_id)
                self.assertGreater(dictionary.record_count, 2000)
                self.assertEqual(
                    fields_of_loaded(get(txn, "texts/17").record)["number"], 17
                )


class M_Eviction(LarderTest):
    def test_the_least_recently_used_go_first_and_the_pinned_stay(self):
        with Store(manual_reclaim=1) as store:
            # Each commit ages what came before it.
            for group in range(20):
                with store.write() as txn:
                    for number in range(100):
                        put(txn, f"d/{group:02}-{number:02}", {"text": os.urandom(300)})
            with store.write() as txn:
                target = sized(lib.t_target)
                target.target_id = 1
                target.canonical_id = text("d")
                ok(lib.target_put, txn, byref(target))
                ok(lib.target_add_document, txn, 1, text("d/00-01"))
            ok(lib.lru_pin, store.env, text("d/00-00"))
            ok(lib.lru_pin_target, store.env, 1)
            ok(lib.lru_touch, store.env, text("d/00-02"))
            with store.read() as txn:
                before = sized(lib.t_stat)
                ok(lib.env_stat, txn, byref(before))
            goal = before.total_bytes // 2
            result, steps = sized(lib.t_lru_result), 0
            while ok(
                lib.lru_step, store.env, goal, 200, 0, byref(result), expect=(OK, MORE)
            ) == MORE:
                steps += 1
                self.assertLess(steps, 1000)
            self.assertGreater(steps, 3, "steps are bounded")
            self.assertLessEqual(result.total_bytes, goal)
            with store.read() as txn:
                after = sized(lib.t_stat)
                ok(lib.env_stat, txn, byref(after))
                self.assertEqual(after.total_bytes, result.total_bytes)
                self.assertEqual(
                    after.evicted_document_count, before.document_count - after.document_count
                )
                for kept in ("d/00-00", "d/00-01", "d/00-02", "d/19-99"):
                    self.assertIsNotNone(get(txn, kept), kept)
                self.assertIsNone(get(txn, "d/00-03"))
                ok(lib.check, txn, lib.t_problem_function(), lib.t_progress_function(), None,
                   byref(sized(lib.t_check_report)))  # fmt: skip
            ok(lib.lru_unpin, store.env, text("d/00-00"))
            ok(lib.lru_unpin_target, store.env, 1)

    def test_a_commit_over_budget_reclaims(self):
        with Store(budget_bytes=1 << 20) as store:
            for group in range(20):
                with store.write() as txn:
                    for number in range(200):
                        put(txn, f"d/{group}-{number}", {"text": os.urandom(300)})
            with store.read() as txn:
                stat = sized(lib.t_stat)
                ok(lib.env_stat, txn, byref(stat))
            self.assertLessEqual(stat.total_bytes, 1 << 20)
            self.assertGreater(stat.evicted_document_count, 0)
            self.assertGreater(stat.document_count, 0)


class N_Check(LarderTest):
    def test_a_store_in_use_is_clean(self):
        with Store(self.where("store")) as store:
            with store.write() as txn:
                for number in range(50):
                    put(txn, f"cities/{number}", {"number": number})
            problems, rows = [], []
            problem = lib.t_problem_function(
                lambda _, table, key, message: problems.append((table, take(key), message)) or 0
            )
            progress = lib.t_progress_function(lambda _, done, total: rows.append(done) or 0)
            report = sized(lib.t_check_report)
            with store.read() as txn:
                ok(lib.check, txn, problem, progress, None, byref(report))
            self.assertEqual((problems, report.problem_count), ([], 0))
            self.assertEqual(report.document_count, 50)
            self.assertGreaterEqual(report.row_count, 50)

    def test_damage_is_found(self):
        where = self.where("store")
        marker = b"a text that stands in the file as it is"
        with Store(where) as store, store.write() as txn:
            put(txn, "cities/SF", {"text": marker.decode()})
        data = [
            os.path.join(where, name) for name in os.listdir(where) if "lock" not in name
        ]
        found = 0
        for name in data:
            with open(name, "rb+") as file:
                at = file.read().find(marker)
                if at >= 0:
                    file.seek(at)
                    file.write(b"X")
                    found += 1
        self.assertEqual(found, 1)
        problems = []
        problem = lib.t_problem_function(
            lambda _, table, key, message: problems.append(message) or 0
        )
        with Store(where, flags=0) as store, store.read() as txn:
            report = sized(lib.t_check_report)
            ok(lib.check, txn, problem, lib.t_progress_function(), None, byref(report),
               expect=lib.E_CORRUPT)  # fmt: skip
            self.assertGreater(report.problem_count, 0)
            self.assertTrue(problems)
            document = lib.t_document()
            ok(
                lib.document_get, txn, text("cities/SF"), byref(document), expect=lib.E_CORRUPT
            )


class Z_Coverage(LarderTest):
    def test_every_function_of_the_header_was_called(self):
        self.assertEqual(sorted(set(lib.header.functions) - lib.called), [])


def main():
    arguments = sys.argv[1:]
    library = arguments.pop(0) if arguments else os.environ.get("LARDER_LIBRARY")
    if not library:
        sys.exit(__doc__)
    beside = os.path.join(os.path.dirname(os.path.abspath(library)), "..", "include", "larder.h")
    header = arguments.pop(0) if arguments else beside
    lib.load(library, os.path.abspath(header))
    unittest.main(argv=sys.argv[:1] + arguments, verbosity=1)


if __name__ == "__main__":
    main()

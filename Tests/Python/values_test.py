"""Values, field paths and records: what needs no store, or hardly one."""

import ctypes
import os
import shutil
import subprocess
from ctypes import byref

from binding import (
    COLD, NOT_FOUND, OK, Builder, GeoPoint, LarderTest, Reference, ServerTimestamp, Store,
    Timestamp, Vector, decode, encode, field_of, fields_of, get, lib, ok, opened, path, plain,
    put, take, text, two_calls,
)  # fmt: skip


class Interface(LarderTest):
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


class Values(LarderTest):
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


class FieldPaths(LarderTest):
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


class Records(LarderTest):
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
        # The last two delete below what is no map, which changes nothing.
        mask = (lib.t_bytes * 5)(
            text(path("m", "x")), text(path("n", "deep")), text(path("z")), text(path("q", "r")),
            text(path("a", "b"))
        )
        out = lib.t_bytes()
        with Builder() as builder:
            ok(
                lib.record_patch, byref(base), byref(source), mask, 5, builder.handle, byref(out)
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

    def test_a_detached_record_outlives_its_store(self):
        fields = {"small": 1, "large": "a long text, over and over. " * 400}
        store = Store(cold_field_bytes=256)
        with store.write() as txn:
            put(txn, "texts/one", fields)
        detached, size = ctypes.POINTER(lib.t_detached)(), ctypes.c_size_t()
        with store.read() as txn:
            record = get(txn, "texts/one").record
            into = (byref(size), byref(detached))
            ok(lib.record_detach, byref(record), None, 0, *into, expect=lib.E_BUFFER_TOO_SMALL)
            memory = ctypes.create_string_buffer(size.value + 16)
            start = ctypes.addressof(memory)
            aligned = ctypes.c_void_p(start + -start % 16)
            ok(lib.record_detach, byref(record), aligned, size.value, *into)
        store.close()
        self.assertLess(size.value, 10000)
        stored = lib.detached_record(detached)
        self.assertGreater(lib.record_cold_bytes(stored), 10000)
        loaded, whole = ctypes.POINTER(lib.t_record)(), lib.t_bytes()
        ok(lib.detached_load, detached, byref(loaded))
        self.assertEqual(fields_of(loaded.contents), fields)
        ok(lib.detached_plain, detached, byref(whole))
        self.assertEqual(take(whole), plain(fields))
        lib.detached_end(detached)

    def test_bytes_of_our_own_are_opened_without_a_check(self):
        record = lib.t_record()
        ok(lib.record_open_trusted, text(plain(self.city)), byref(record))
        self.assertEqual(fields_of(record), self.city)
        ok(
            lib.record_open_trusted, text("no record"), byref(record),
            expect=lib.E_INVALID_RECORD,
        )

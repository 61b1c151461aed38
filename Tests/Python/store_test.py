"""Environment, transactions, documents, blobs, eviction and check."""

import ctypes
import os
import threading
from ctypes import byref

from binding import (
    END, MORE, NOT_FOUND, OK, STOPPED, Failure, LarderTest, Store, default_options, fields_of,
    fields_of_loaded, get, lib, names, ok, pair, put, scan_options, sized, take, text, time_of,
    two_calls,
)  # fmt: skip


class Environment(LarderTest):
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
            opening = sized(lib.t_opening)
            ok(lib.env_opening, store.env, byref(opening))
            self.assertEqual(opening.state, lib.OPENING_CREATED)
        with Store(where, flags=lib.OPEN_READ_ONLY) as store:
            opening = sized(lib.t_opening)
            ok(lib.env_opening, store.env, byref(opening))
            self.assertEqual(opening.state, lib.OPENING_CLEAN)
            self.assertEqual(opening.recovered_count, 0)
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


class Transactions(LarderTest):
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


class Documents(LarderTest):
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


class Blobs(LarderTest):
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

    def test_compressor(self):
        raw = b"many words, some of them twice. " * 300
        compressor = ctypes.POINTER(lib.t_compressor)()
        ok(lib.compressor_create, byref(compressor))
        needed = ctypes.c_size_t()
        buffer = ctypes.create_string_buffer(len(raw))
        ok(lib.compressor_compress, compressor, text(raw), buffer, len(raw), byref(needed))
        frame = buffer.raw[: needed.value]
        self.assertLess(len(frame), len(raw) // 4)
        self.assertEqual(two_calls(lib.compressor_decompress, compressor, text(frame)), raw)
        ok(
            lib.compressor_decompress, compressor, text(b"no frame"), None, 0, byref(needed),
            expect=lib.E_INVALID_RECORD,
        )
        lib.compressor_close(compressor)

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
                repack, changed = lib.t_repack(), ctypes.c_int64()
                repacked, steps = 0, 0
                while True:
                    status = ok(
                        lib.blob_repack, txn, 1000, byref(repack), byref(changed),
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


class Eviction(LarderTest):
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

    def test_cache_rules_are_stored_and_obeyed(self):
        with Store(self.where("store")) as store:
            ok(lib.lru_set_time, store.env, 1_000_000_000)
            rules = (lib.t_cache_rule * 2)(sized(lib.t_cache_rule), sized(lib.t_cache_rule))
            for rule, scope, path in zip(rules, (1, 2), ("keep", "never")):
                rule.scope, rule.flags, rule.path = scope, scope, text(path)
            with store.write() as txn:
                ok(lib.cache_rules_set, txn, rules, 2)
            with store.write() as txn:
                for name in ("keep/a", "c/d/never/a", "c/a"):
                    put(txn, name, {"text": os.urandom(300)})
            with store.read() as txn:
                self.assertIsNone(get(txn, "c/d/never/a"))
            result = sized(lib.t_lru_result)
            ok(lib.lru_step, store.env, 0, 0, 0, byref(result))
            with store.read() as txn:
                self.assertIsNotNone(get(txn, "keep/a"))
                self.assertIsNone(get(txn, "c/a"))
                rule = sized(lib.t_cache_rule)
                ok(lib.cache_rules_get, txn, 0, byref(rule))
                self.assertEqual((rule.flags, rule.document_count), (1, 1))
                ok(lib.cache_rules_get, txn, 2, byref(rule), expect=(END,))


class Check(LarderTest):
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
        # The log has the text, too; a store that was closed does not read it.
        with open(os.path.join(where, "data.mdb"), "rb+") as file:
            at = file.read().find(marker)
            self.assertGreaterEqual(at, 0)
            file.seek(at)
            file.write(b"X")
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

    def test_a_damaged_store_is_checked_salvaged_and_set_aside(self):
        where, salvaged = self.where("store"), self.where("salvaged")
        with Store(where) as store:
            with store.write() as txn:
                put(txn, "cities/SF", {"population": 860000})
            self.assertEqual(lib.env_quarantine(store.env), b"")
            report = sized(lib.t_salvage_report)
            ok(lib.env_salvaged, store.env, byref(report), expect=NOT_FOUND)
        pages = sized(lib.t_pages_report)
        problems = []
        problem = lib.t_page_problem_function(
            lambda _, page, table, message: problems.append(message) or 0
        )
        ok(lib.check_pages, where.encode(), problem, lib.t_progress_function(), None,
           byref(pages))  # fmt: skip
        self.assertEqual((problems, pages.problem_count), ([], 0))
        with open(os.path.join(where, "data.mdb"), "rb+") as file:
            file.write(bytes(8192))  # both meta pages
        with open(os.path.join(where, "data.wal"), "rb+") as file:
            file.write(bytes(8192))  # both headers
        ok(lib.check_pages, where.encode(), problem, lib.t_progress_function(), None,
           byref(pages), expect=lib.E_CORRUPT)  # fmt: skip
        self.assertEqual(pages.problem_count, len(problems))
        self.assertTrue(problems)

        report = sized(lib.t_salvage_report)
        ok(lib.salvage, where.encode(), salvaged.encode(), lib.t_progress_function(), None,
           byref(report))  # fmt: skip
        self.assertEqual(report.documents.found_count, 1)
        with Store(salvaged) as store, store.read() as txn:
            self.assertEqual(fields_of(get(txn, "cities/SF").record), {"population": 860000})

        with self.assertRaises(Failure) as caught:
            Store(where)
        self.assertEqual(caught.exception.status, lib.E_CORRUPT)
        with Store(where, recovery=lib.RECOVERY_QUARANTINE) as store:
            self.assertIn(b"damaged-", lib.env_quarantine(store.env))
            ok(lib.env_salvaged, store.env, byref(report))
            self.assertEqual(report.documents.found_count, 1)
            with store.read() as txn:
                self.assertEqual(fields_of(get(txn, "cities/SF").record), {"population": 860000})

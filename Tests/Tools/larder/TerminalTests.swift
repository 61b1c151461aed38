import LarderDocumentStore
import LarderModel
import Testing

@testable import LarderTool

@Suite struct ByteSizeTests {
    @Test func `sizes are printed with units of 1024`() {
        let expected: [(Int64, String)] = [
            (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"),
            (1_048_575, "1 MiB"), (1_048_576, "1 MiB"), (12_058_624, "11.5 MiB"),
            (157_286_400, "150 MiB"), (1_099_511_627_776, "1 TiB"), (.max, "8192 PiB"),
            (-2048, "-2 KiB"),
        ]
        for (bytes, text) in expected { #expect(ByteSize(bytes).text == text) }
    }

    @Test func `sizes are read with their units`() {
        let expected: [(String, Int64?)] = [
            ("0", 0), ("1048576", 1_048_576), ("64MiB", 67_108_864), ("64 mib", 67_108_864),
            ("1.5k", 1536), ("2G", 2_147_483_648), ("5MB", 5_000_000), ("7 B", 7),
            ("1TiB", 1 << 40),
            ("", nil), ("MiB", nil), ("-1", nil), ("1x", nil), (".5M", nil), ("1.2.3", nil),
            ("99999999999G", nil),
        ]
        for (text, bytes) in expected {
            #expect(ByteSize(argument: text)?.bytes == bytes, "\(text)")
        }
    }
}

@Suite struct NumberTextTests {
    @Test func `numbers are grouped and rounded`() {
        #expect(NumberText.count(0) == "0")
        #expect(NumberText.count(999) == "999")
        #expect(NumberText.count(34_006) == "34,006")
        #expect(NumberText.count(-1_234_567) == "-1,234,567")
        #expect(NumberText.count(Int64.min) == "-9,223,372,036,854,775,808")
        #expect(NumberText.things(1, "document") == "1 document")
        #expect(NumberText.things(2, "entry", "entries") == "2 entries")
        #expect(NumberText.fixed(3.14159, digits: 2) == "3.14")
        #expect(NumberText.fixed(-0.04, digits: 1) == "0.0")
        #expect(NumberText.fixed(2.5, digits: 0) == "3")
        #expect(NumberText.share(1, of: 3) == "33.3 %")
        #expect(NumberText.share(1, of: 0) == "-")
    }

    @Test func `durations fit their size`() {
        #expect(NumberText.duration(seconds: 0.00085) == "850 us")
        #expect(NumberText.duration(seconds: 0.0123) == "12 ms")
        #expect(NumberText.duration(seconds: 3.21) == "3.2 s")
        #expect(NumberText.duration(seconds: 125) == "2:05")
        #expect(NumberText.duration(seconds: 3725) == "1:02:05")
        #expect(NumberText.duration(seconds: .infinity) == "?")
    }
}

@Suite struct TextTableTests {
    @Test func `columns are aligned, also with wide and combining characters`() {
        var table = TextTable([("name", .left), ("count", .right)])
        table.add("a", "1")
        table.add("中文", "22")
        table.add("e\u{301}tat", "333")
        table.add("last")
        #expect(
            table.lines == [
                "NAME  COUNT", "a         1", "中文     22", "e\u{301}tat    333", "last",
            ])
    }

    @Test func `text is cut at a width with an ellipsis`() {
        #expect(DisplayWidth.cut("abcdef", to: 6) == "abcdef")
        #expect(DisplayWidth.cut("abcdefg", to: 6) == "abcde…")
        #expect(DisplayWidth.cut("中文中文", to: 6) == "中文…")
    }

    @Test func `collections are a tree`() {
        #expect(
            CollectionTree.names(of: [
                "cities", "cities/LA/landmarks", "cities/SF/landmarks",
                "cities/SF/landmarks/bridge/visits", "citiesOld", "a/b/c",
            ]) == [
                "cities", "  LA/landmarks", "  SF/landmarks", "    bridge/visits", "citiesOld",
                "a/b/c",
            ])
    }
}

@Suite struct ProgressBarTests {
    @Test func `the bar shows share, amounts, rate and time left in the given width`() {
        let text = ProgressBar.text(
            title: "import", unit: .bytes, done: 3_145_728, total: 12_582_912,
            note: "9,000 documents/s", seconds: 2, columns: 99)
        #expect(text.hasPrefix("import [#######.......................]  25 %  3 MiB of 12 MiB"))
        #expect(text.hasSuffix("9,000 documents/s  ETA 6.0 s"))
        for columns in [0, 10, 40, 60, 80, 200] {
            let text = ProgressBar.text(
                title: "import", unit: .count("documents"), done: 5, total: 10, note: "note",
                seconds: 1, columns: columns)
            #expect(text.count <= max(0, columns))
        }
    }

    @Test func `without a total there is no bar`() {
        let text = ProgressBar.text(
            title: "check", unit: .count("rows"), done: 1500, total: 0, note: "", seconds: 2,
            columns: 80)
        #expect(text == "check  1,500 rows")
    }
}

@Suite struct ArgumentTests {
    @Test func `an index is a list of fields with their kinds`() throws {
        let folder = try TemporaryFolder()
        let store = try Store(directory: folder.store)
        try IndexArgument("state,stats.area:desc,`odd.name`:asc").define(in: store, group: "cities")
        try IndexArgument("tags:contains").define(in: store, group: "cities")
        let indexes = try store.read { try $0.indexes() }
        #expect(
            indexes.map { IndexArgument.text(of: $0.definition) } == [
                "state,stats.area:desc,`odd.name`", "tags:contains",
            ])
        #expect(indexes.map(\.isComplete) == [true, true])
        #expect(indexes.map(\.definition.collectionGroup) == ["cities", "cities"])
        try store.close()
        for wrong in ["", "a,", "a..b", "a:contains,b:contains", ":desc"] {
            #expect(throws: (any Error).self, "\(wrong)") { try IndexArgument(wrong) }
        }
    }

    @Test func `a goal of eviction is a size or a share`() {
        #expect(EvictionGoal(argument: "16MiB") == .bytes(16_777_216))
        #expect(EvictionGoal(argument: "50%") == .share(0.5))
        #expect(EvictionGoal(argument: "0%")?.bytes(of: 1000) == 0)
        #expect(EvictionGoal(argument: "12.5%")?.bytes(of: 1000) == 125)
        for wrong in ["101%", "-1%", "%", "half", ""] {
            #expect(EvictionGoal(argument: wrong) == nil, "\(wrong)")
        }
    }

    @Test func `options of the store may stand before the command`() {
        #expect(
            LarderTool.storeOptionsLast(["--store", "x", "--json", "ls", "a"])
                == ["ls", "--store", "x", "--json", "a"])
        #expect(LarderTool.storeOptionsLast(["--store=x", "ls"]) == ["ls", "--store=x"])
        #expect(LarderTool.storeOptionsLast(["-s", "x", "ls"]) == ["ls", "-s", "x"])
        #expect(LarderTool.storeOptionsLast(["--version"]) == ["--version"])
        #expect(LarderTool.storeOptionsLast(["--json"]) == ["--json"])
        #expect(LarderTool.storeOptionsLast(["ls", "--json"]) == ["ls", "--json"])
    }

    @Test func `fields are printed with their types`() {
        let fields: MapValue = [
            "name": .string("a\"b"), "when": .timestamp(.epoch), "raw": .bytes([1, 255]),
            "where": .geoPoint(GeoPoint(latitude: 1, longitude: -2.5)),
            "inner": .map(["list": .array([.integer(1), .double(1)]), "none": .null]),
            "empty": .map([:]), "nan": .double(.nan), "vector": .vector([1]),
        ]
        #expect(
            FieldText.lines(of: fields) == [
                "empty   {}", "inner", "  list  [1, 1.0]", "  none  null", "name    \"a\\\"b\"",
                "nan     nan", "raw     2 bytes 01ff", "vector  vector of 1 [1.0]",
                "when    timestamp 1970-01-01T00:00:00Z", "where   geo point 1.0, -2.5",
            ])
    }

    @Test func `keys in problems are text or hexadecimal`() {
        #expect(CheckCommand.text(Array("cities".utf8)) == "cities")
        #expect(CheckCommand.text([0, 255]) == "0x00ff")
        #expect(CheckCommand.text([]) == "0x")
    }
}

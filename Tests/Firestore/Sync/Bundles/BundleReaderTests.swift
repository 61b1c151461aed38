import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderSync

@Suite("Bundle reader")
struct BundleReaderTests {
    @Test("parts come out as they were written, however their bytes come")
    func pieces() throws {
        var text = BundleText()
        text.add(Query(.collection(try CollectionPath("c"))), named: "q", at: 5)
        text.add("c/a", ["x": 1], at: 3, queries: ["q"])
        text.add("c/b", nil, at: 4)
        let bytes = text.bytes()
        for size in [1, 7, bytes.count] {
            var reader = BundleReader(database: BundleText.database)
            var elements: [BundleElement] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                reader.append(bytes[start..<min(start + size, bytes.count)])
                while let element = try reader.next() { elements.append(element) }
            }
            try reader.finish()
            #expect(reader.bytesRead == bytes.count && elements.count == 5)
            guard case .metadata(let metadata) = elements[0],
                case .namedQuery(let query) = elements[1],
                case .documentMetadata(let first) = elements[2],
                case .document(let document) = elements[3],
                case .documentMetadata(let second) = elements[4]
            else {
                Issue.record("\(elements)")
                return
            }
            #expect(metadata.id == "bundle" && metadata.totalDocuments == 2)
            #expect(metadata.createTime == SnapshotVersion(seconds: 10))
            #expect(metadata.totalBytes == text.elements.reduce(0) { $0 + $1.count })
            #expect(query.name == "q" && query.readTime == SnapshotVersion(seconds: 5))
            #expect(first.path.string == "c/a" && first.exists && first.queries == ["q"])
            #expect(document.version == SnapshotVersion(seconds: 3) && document.exists)
            #expect(!second.exists && second.readTime == SnapshotVersion(seconds: 4))
        }
    }

    @Test(
        "what is no bundle is an error, not a trap",
        arguments: [
            "x", "{}", "0{}", "-2{}", "2[]", "1{", "3{}}", "123456789", "99999999{", "2 {}", "2{}",
            #"9{"x":{}}"#, #"14{"metadata":1}"#, #"15{"metadata":{}}"#, #"13{"document"}"#,
            #"16{"namedQuery":{}}"#, "2\u{1}{", "٢{}",
        ])
    func malformed(_ text: String) throws {
        var reader = BundleReader(database: BundleText.database)
        reader.append(text.utf8)
        let error = #expect(throws: LarderError.self) {
            _ = try reader.next()
            try reader.finish()
        }
        #expect(error?.kind == .invalidArgument)
    }

    @Test(
        "a part that says what no bundle may is an error",
        arguments: [
            #"{"metadata":{"id":"","createTime":"2020-01-01T00:00:00Z","version":1}}"#,
            #"{"metadata":{"id":"b","createTime":"2020-01-01","version":1}}"#,
            #"{"metadata":{"id":"b","createTime":"2020-01-01T00:00:00Z","version":2}}"#,
            #"{"metadata":{"id":"b","version":1}}"#,
            #"{"metadata":{"id":"b","createTime":{"seconds":"9e99"},"version":1}}"#,
            #"{"metadata":{"id":"b","createTime":{"nanos":1000000000},"version":1}}"#,
            #"{"metadata":{"id":"b","createTime":{},"version":1,"totalDocuments":-1}}"#,
            #"{"metadata":{"id":"b","createTime":{},"version":1,"totalBytes":1.5}}"#,
            #"{"metadata":{"id":"b","createTime":{},"version":1},"x":{}}"#,
            #"{"documentMetadata":{"name":"projects/q/databases/d/documents/c/a"}}"#,
            #"{"documentMetadata":{"name":"projects/p/databases/d/documents/c","readTime":{"seconds":1}}}"#,
            #"{"documentMetadata":{"name":"projects/p/databases/d/documents/c/a","readTime":{}}}"#,
            #"{"document":{"name":"projects/p/databases/d/documents/c/a","fields":{}}}"#,
            document(#"{"a":{}}"#), document(#"{"a":1}"#), document(#"{"a":{"integerValue":1.5}}"#),
            document(#"{"a":{"integerValue":"9223372036854775808"}}"#),
            document(#"{"a":{"integerValue":"0x10"}}"#), document(#"{"a":{"doubleValue":"nan"}}"#),
            document(#"{"a":{"doubleValue":1e999}}"#), document(#"{"a":{"booleanValue":"true"}}"#),
            document(#"{"a":{"geoPointValue":{"latitude":91}}}"#),
            document(#"{"a":{"bytesValue":"a"}}"#), document(#"{"a":{"bytesValue":"a?=="}}"#),
            document(#"{"a":{"arrayValue":5}}"#), document(#"{"a":{"mapValue":[]}}"#),
            document(#"{"a":{"timestampValue":"0000-01-01T00:00:00Z"}}"#),
            document(#"{"a":{"stringValue":"x","integerValue":1}}"#),
            document(#"{"":{"integerValue":1}}"#), document(#"{"a":{"unknownValue":1}}"#),
            query(#"{}"#), query(#"{"from":[{"collectionId":"c"},{"collectionId":"d"}]}"#),
            query(#"{"from":[{"collectionId":""}]}"#),
            query(#"{"from":[{"collectionId":"c/d"}]}"#),
            query(#"{"from":[{"collectionId":"c"}],"offset":1}"#),
            query(#"{"from":[{"collectionId":"c"}],"limit":0}"#),
            query(#"{"from":[{"collectionId":"c"}],"orderBy":[{"direction":"ASCENDING"}]}"#),
            query(#"{"from":[{"collectionId":"c"}],"startAt":{"values":[]}}"#),
            query(#"{"from":[{"collectionId":"c"}],"where":{"unaryFilter":{"op":"IS_NULL"}}}"#),
            query(#"{"from":[{"collectionId":"c"}],"where":{}}"#),
            query(
                #"{"from":[{"collectionId":"c"}],"where":{"fieldFilter":{"op":"IN","field":{"fieldPath":"a"},"value":{"integerValue":1}}}}"#
            ),
        ])
    func malformedParts(_ text: String) throws {
        var reader = BundleReader(database: BundleText.database)
        reader.append(BundleText.element(text))
        let error = #expect(throws: LarderError.self) { try reader.next() }
        #expect(error?.kind == .invalidArgument)
    }

    @Test("a query below what is no document of the database is refused with its parent")
    func malformedParents() throws {
        for parent in [
            "projects/p/databases/d/documentsX", "projects/q/databases/d/documents", "c/a", "",
        ] {
            let text = query(#"{"from":[{"collectionId":"c"}]}"#)
                .replacing("projects/p/databases/d/documents", with: parent)
            var reader = BundleReader(database: BundleText.database)
            reader.append(BundleText.element(text))
            let error = #expect(throws: LarderError.self) { try reader.next() }
            #expect(error?.kind == .invalidArgument)
            #expect("\(error as Any)".contains("a query below '\(parent)'"), "\(parent)")
        }
    }

    @Test("values come back as they were, in every notation")
    func values() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let fields = random.map(depth: 3).withoutLocalValues
            var text = BundleText(random: random)
            let time = Timestamp(seconds: 1, nanoseconds: Int32(random.below(1_000_000_000)))
            text.add("c/a", fields, at: time)
            var reader = BundleReader(database: BundleText.database)
            for element in text.elements { reader.append(element) }
            _ = try reader.next()
            guard case .document(let reading) = try reader.next(),
                case .found(let record, let createTime) = reading.contents
            else {
                Issue.record("no document; \(random)")
                return
            }
            let expected = try Record(fields)
            try #require(record == expected, "\(fields) \(random)")
            #expect(reading.version.timestamp == time && createTime == .epoch)
        }
    }

    @Test("queries come back as they were, a conjunction of conditions as a list")
    func queries() throws {
        var random = SeededRandom()
        let fields = try ["a", "m.x", "`odd.name`", "tags"].map { try FieldPath(canonical: $0) }
        let collections = try ["rooms", "cities/SF/rooms"].map { try CollectionPath($0) }
        let names = try ["rooms/a", "cities/SF/rooms/b"].map {
            Value.reference(
                ResourceName(database: BundleText.database, document: try DocumentPath($0)))
        }
        var count = 0
        while count < 1000 {
            let query = random.planningQuery(fields, collections, names: names)
            guard (try? query.validate()) != nil else { continue }
            count += 1
            var text = BundleText(random: random)
            text.add(query, named: "q", at: 1)
            var reader = BundleReader(database: BundleText.database)
            reader.append(text.elements[0])
            guard case .namedQuery(let named) = try reader.next() else {
                Issue.record("no query; \(random)")
                return
            }
            var expected = query
            expected.filters = query.filters.asRead
            #expect(named.query == expected, "\(random)")
            #expect(named.query.explicitOrders == expected.explicitOrders, "\(random)")
        }
        var text = BundleText()
        let document = Query(.document(try DocumentPath("c/a")))
        text.add(document, named: "q", at: 1)
        var reader = BundleReader(database: BundleText.database)
        reader.append(text.elements[0])
        guard case .namedQuery(let named) = try reader.next() else { return }
        #expect(named.query == document)
    }

    @Test("any bytes are parts or an error")
    func fuzz() throws {
        var random = SeededRandom()
        for _ in 0..<3000 {
            var text = BundleText(random: random)
            for _ in 0..<random.below(3) {
                text.add("c/a", random.map(depth: 2).withoutLocalValues, at: 1, queries: ["q"])
            }
            text.add(Query(.group("g"), limit: .last(3)), named: "q", at: 1)
            var bytes = text.bytes()
            for _ in 0...random.below(4) {
                let position = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[position] = UInt8(random.below(256))
                case 1: bytes.remove(at: position)
                case 2: bytes.insert(random.pick(Array("\"\\{}[],:0-".utf8)), at: position)
                default: bytes.removeSubrange(position..<min(position + 9, bytes.count))
                }
                if bytes.isEmpty { bytes = [0x30] }
            }
            var reader = BundleReader(database: BundleText.database)
            do throws(LarderError) {
                reader.append(bytes)
                while try reader.next() != nil {}
                try reader.finish()
            } catch {
                #expect(error.kind == .invalidArgument, "\(random)")
            }
        }
    }
}

private func document(_ fields: String) -> String {
    #"{"document":{"name":"projects/p/databases/d/documents/c/a","updateTime":{"seconds":1},"fields":\#(fields)}}"#
}

private func query(_ structured: String) -> String {
    #"{"namedQuery":{"name":"q","readTime":{},"bundledQuery":{"parent":"projects/p/databases/d/documents","structuredQuery":\#(structured)}}}"#
}

extension MapValue {
    /// The same without what no backend has.
    fileprivate var withoutLocalValues: MapValue {
        MapValue(lazy.map { (name: $0.name, value: $0.value.withoutLocalValues) })
    }
}

extension Value {
    fileprivate var withoutLocalValues: Value {
        switch self {
        case .serverTimestamp(let pending): .timestamp(pending.localWriteTime)
        case .array(let values): .array(values.map(\.withoutLocalValues))
        case .map(let entries): .map(entries.withoutLocalValues)
        default: self
        }
    }
}

extension [Filter] {
    /// Filters as they are after they were sent: all of several in one conjunction.
    fileprivate var asRead: [Filter] {
        let parts: [Filter]
        if count == 1, case .and(let filters) = self[0] {
            parts = filters
        } else if count > 1 {
            parts = self
        } else {
            return self
        }
        let areConditions = parts.allSatisfy { if case .field = $0 { true } else { false } }
        return areConditions ? parts : [.and(parts)]
    }
}

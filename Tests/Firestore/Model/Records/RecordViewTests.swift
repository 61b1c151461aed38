import Foundation
import LarderModel
import LarderTestSupport
import Testing

@Suite("Records in place")
struct RecordViewTests {
    @Test("fields compare with values as decoded values do")
    func comparison() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let (fields, value) = (random.map(), random.value())
            let encoded = try EncodedValue(value)
            let path = try FieldPath(random.name())
            let field = PreparedField(path)
            try Record(fields).withView { view in
                let present = fields[path.last]
                let order = try? view.compare(field, to: encoded)
                let isEqual = try? view.isEqual(field, to: encoded)
                let type = try? view.type(of: field)
                #expect(order?.rawValue == present?.modelOrder(to: value).signum(), "\(random)")
                #expect(isEqual == (present == value), "\(random)")
                #expect(type == present?.type, "\(random)")
            }
        }
    }

    @Test("one prepared field finds its value in records of many shapes")
    func preparedFieldAcrossShapes() throws {
        var random = SeededRandom()
        let field = PreparedField(try FieldPath("a", "b"))
        for _ in 0..<2000 {
            var fields = random.map(depth: 1)
            if random.oneIn(2) { fields["a"] = .map(random.map(depth: 0)) }
            var expected: Value?
            if case .map(let inner)? = fields["a"] { expected = inner["b"] }
            let found = try Record(fields).withView { (try? $0.value(at: field)) ?? nil }
            #expect(found == expected, "\(random)")
        }
    }

    @Test("two records compare by a field, unless one has none")
    func comparisonOfRecords() throws {
        let field = PreparedField(try FieldPath("n"))
        let (low, high, none) = (try Record(["n": 1]), try Record(["n": 1.5]), try Record([:]))
        low.withView { l in
            high.withView { h in
                none.withView { n in
                    #expect((try? l.compare(field, with: h)) == .orderedAscending)
                    #expect((try? h.compare(field, with: l)) == .orderedDescending)
                    #expect((try? l.compare(field, with: n)) == .some(nil))
                }
            }
        }
    }

    @Test("a value lent to a closure answers questions of its own type only")
    func lentValues() throws {
        let record = try Record([
            "boolean": true, "integer": 7, "double": 1.5, "text": "héllo", "null": .null,
            "time": .timestamp(.epoch), "array": [1, "x", [2]], "map": ["k": 3],
        ])
        let (one, y) = (try EncodedValue(1), try EncodedValue("y"))
        var seen: [String] = []
        try record.withView { view throws(LarderError) in
            try view.forEachField { name, value in
                seen.append(name)
                #expect(value.boolean == (name == "boolean" ? true : nil))
                #expect(value.integer == (name == "integer" ? 7 : nil))
                #expect(value.double == (name == "double" ? 1.5 : nil))
                #expect(value.timestamp == (name == "time" ? .epoch : nil))
                #expect(value.count == (name == "array" ? 3 : name == "map" ? 1 : nil))
                let content = value.withUnsafeContent { String(decoding: $0, as: UTF8.self) }
                #expect(content == (name == "text" ? "héllo" : nil))
                #expect(value.withEntry(named: "k") { $0.integer } == (name == "map" ? 3 : nil))
                let (containsOne, containsY) = (value.contains(one), value.contains(y))
                #expect(containsOne == (name == "array"))
                #expect(!containsY)
                return name == "null" ? .stop : .continue
            }
        }
        #expect(seen == ["array", "boolean", "double", "integer", "map", "null"])
    }

    @Test("a copy of a lent record is the record")
    func copies() throws {
        let record = try Record(["a": [1, 2], "b": "x"])
        let copy = record.withView { try? $0.copy() }
        #expect(copy == record)
        #expect(copy?.bytes == record.bytes)
    }
}

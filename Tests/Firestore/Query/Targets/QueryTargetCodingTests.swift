import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@Suite("Targets as bytes")
struct QueryTargetCodingTests {
    private func kind(of bytes: [UInt8]) -> LarderError.Code? {
        do throws(LarderError) {
            _ = try QueryTarget(decoding: bytes)
            return nil
        } catch {
            return error.kind
        }
    }

    private func kind(of fields: MapValue) throws -> LarderError.Code? {
        kind(of: try Record(fields).bytes)
    }

    @Test("Random targets come back equal, with the same canonical id")
    func roundTrip() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let target = try random.query().target
            let decoded = try QueryTarget(decoding: target.encoded())
            #expect(decoded == target, "\(random)")
            #expect(decoded.canonicalID == target.canonicalID, "\(random)")
        }
    }

    @Test("Targets of every kind of source and names that need quoting come back")
    func sources() throws {
        let odd = try FieldPath("a.b", "`\\", "é")
        for source in [
            Query.Source.document(try DocumentPath("c/d")), .group("é"),
            .collection(try CollectionPath("a/b/c")),
        ] {
            let target = Query(source, orders: [Order(odd)]).target
            #expect(try QueryTarget(decoding: target.encoded()) == target)
        }
    }

    @Test("Changed bytes are refused with an error or read as some target, never more")
    func mutations() throws {
        var random = SeededRandom()
        var refused = 0
        for _ in 0..<3000 {
            var bytes = try random.query().target.encoded()
            for _ in 0..<random.below(4) + 1 {
                switch random.below(3) {
                case 0: bytes[random.below(bytes.count)] = UInt8(random.below(256))
                case 1: bytes.removeLast(random.below(bytes.count))
                default: bytes.insert(UInt8(random.below(256)), at: random.below(bytes.count))
                }
            }
            if let kind = kind(of: bytes) {
                #expect([.dataLoss, .failedPrecondition].contains(kind), "\(kind); \(random)")
                refused += 1
            } else {
                let target = try QueryTarget(decoding: bytes)
                #expect(try QueryTarget(decoding: target.encoded()) == target, "\(random)")
            }
        }
        #expect(refused > 1500, "\(random)")
        #expect(kind(of: []) == .dataLoss)
    }

    @Test("Sound records that are no targets are data loss, newer versions a failed precondition")
    func wrongFields() throws {
        let order: Value = ["path": "__name__", "descending": false]
        let sound: MapValue = [
            "version": 1, "group": "c", "filters": [], "orders": [order], "other": 1,
        ]
        #expect(try kind(of: sound) == nil)
        func changed(_ name: String, _ value: Value?) throws -> LarderError.Code? {
            var fields = sound
            fields[name] = value
            return try kind(of: fields)
        }
        #expect(try changed("version", 2) == .failedPrecondition)
        for (name, value) in [
            ("version", nil), ("version", 0), ("version", "1"), ("group", nil), ("group", 1),
            ("collection", "c"), ("filters", nil), ("filters", [1]), ("filters", [["and": 1]]),
            ("filters", [["or": -1]]), ("filters", [["op": "==", "path": "a"]]),
            ("filters", [["op": "=", "path": "a", "value": 1]]),
            ("filters", [["op": "==", "path": "", "value": 1]]),
            ("filters", [["and": .integer(.max)]]), ("orders", []),
            ("orders", [["path": "a"]]), ("limit", 0), ("limit", "1"),
            ("start", ["values": [1, 2], "inclusive": true]), ("end", ["values": [1]]), ("end", 1),
        ] as [(String, Value?)] {
            #expect(try changed(name, value) == .dataLoss, "\(name): \(String(describing: value))")
        }
    }

    @Test("Nesting is limited in both directions")
    func nesting() throws {
        var filter = Filter.and([])
        for _ in 0..<99 { filter = .or([filter]) }
        let deepest = Query(.group("c"), filters: [filter]).target
        #expect(try QueryTarget(decoding: deepest.encoded()) == deepest)
        let tooDeep = Query(.group("c"), filters: [.or([filter])])
        #expect(throws: LarderError.self) { try tooDeep.target.encoded() }
        #expect(throws: LarderError.self) { try tooDeep.validate() }
        let parts = [Value](repeating: ["and": 1], count: 5000)
        let fields: MapValue = [
            "version": 1, "group": "c", "filters": .array(parts + [["and": 0]]),
            "orders": [["path": "__name__", "descending": false]],
        ]
        #expect(try kind(of: fields) == .dataLoss)
    }
}

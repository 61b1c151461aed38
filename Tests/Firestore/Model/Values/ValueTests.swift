import Foundation
import LarderModel
import LarderTestSupport
import Testing

/// Values in Firestore's order: those of one group are the same, each group is above the one
/// before.
private let groups: [[Value]] = [
    [.null],
    [false],
    [true],
    [.double(.nan), .double(-.nan), .double(.signalingNaN)],
    [.double(-.infinity)],
    [.double(-.greatestFiniteMagnitude)],
    [.double((-0x1p63).nextDown)],
    [.integer(.min), .double(-0x1p63)],
    [.integer(.min + 1)],
    [.integer(-(1 << 53) - 1)],
    [.integer(-(1 << 53)), .double(-0x1p53)],
    [-1.5],
    [-1, .double(-1)],
    [.double(-.leastNonzeroMagnitude)],
    [0, 0.0, -0.0],
    [.double(.leastNonzeroMagnitude)],
    [1, 1.0],
    [1.1],
    [.integer((1 << 53) - 1), .double(0x1p53 - 1)],
    [.integer(1 << 53), .double(0x1p53)],
    [.integer((1 << 53) + 1)],
    [.integer(.max)],
    [.double(0x1p63)],
    [.double(.infinity)],
    [.timestamp(Timestamp(seconds: -1, nanoseconds: 999_999_999))],
    [.timestamp(Timestamp(seconds: 0, nanoseconds: 0))],
    [.timestamp(Timestamp(seconds: 0, nanoseconds: 1))],
    [.timestamp(Timestamp(seconds: 253_402_300_799, nanoseconds: 0))],
    [
        .serverTimestamp(pending(1)), .serverTimestamp(pending(1, previous: "x")),
    ],
    [.serverTimestamp(pending(2))],
    [""],
    ["\u{0}"],
    ["a"],
    ["a\u{0}"],
    ["aé"],
    ["b"],
    ["e\u{301}"],
    ["é"],
    ["\u{ff61}"],
    ["\u{1f600}"],
    [.bytes([])],
    [.bytes([0])],
    [.bytes([0, 1, 2])],
    [.bytes([0, 2])],
    [.bytes([255])],
    [.reference(ResourceName("projects/p/databases/d/documents/a/__id-1__"))],
    [.reference(ResourceName("projects/p/databases/d/documents/a/__id9__"))],
    [.reference(ResourceName("projects/p/databases/d/documents/a/__id9__/c/d"))],
    [.reference(ResourceName("projects/p/databases/d/documents/a/__id10__"))],
    [.reference(ResourceName("projects/p/databases/d/documents/a/9"))],
    [.reference(ResourceName("projects/p/databases/d/documents/a/b"))],
    [.reference(ResourceName("projects/p/databases/d/documents/a/b/c/d"))],
    [.reference(ResourceName("projects/p/databases/d/documents/a-b/b"))],
    [.reference(ResourceName("projects/p/databases/e/documents/a/b"))],
    [.geoPoint(GeoPoint(latitude: -90, longitude: -180))],
    [
        .geoPoint(GeoPoint(latitude: 0, longitude: 0)),
        .geoPoint(GeoPoint(latitude: -0.0, longitude: -0.0)),
    ],
    [.geoPoint(GeoPoint(latitude: 0, longitude: 1))],
    [.geoPoint(GeoPoint(latitude: 90, longitude: -180))],
    [[]],
    [[.null]],
    [[1, 2], [1.0, 2]],
    [[1, 2, 3]],
    [["a"]],
    [[[]]],
    [.vector([])],
    [.vector([100])],
    [.vector([0, 1]), .vector([-0.0, 1])],
    [.vector([0, 2])],
    [[:]],
    [["a": 1], ["a": 1.0]],
    [["a": 1, "b": 2]],
    [["a": 2]],
    [["aa": 0]],
    [["b": 0]],
    [.max],
]

private func pending(_ seconds: Int64, previous: Value? = nil) -> PendingServerTimestamp {
    PendingServerTimestamp(
        localWriteTime: Timestamp(seconds: seconds, nanoseconds: 0), previous: previous)
}

@Suite("The order of values")
struct ValueOrderTests {
    @Test("each group is below the next, and its members are the same")
    func groupsAreInOrder() throws {
        for (left, lefts) in groups.enumerated() {
            for (right, rights) in groups.enumerated() {
                for l in lefts {
                    for r in rights {
                        let expected: ComparisonResult =
                            left < right
                            ? .orderedAscending
                            : left > right ? .orderedDescending : .orderedSame
                        #expect(try l.compare(to: r) == expected, "\(l) and \(r)")
                        #expect(l.modelOrder(to: r).signum() == expected.rawValue)
                    }
                }
            }
        }
    }

    @Test("encoded values are in the same order")
    func coreAgrees() throws {
        let encoded = try groups.map { try $0.map { try EncodedValue($0) } }
        for (left, lefts) in encoded.enumerated() {
            for (right, rights) in encoded.enumerated() {
                for l in lefts {
                    for r in rights {
                        let expected: ComparisonResult =
                            left < right
                            ? .orderedAscending
                            : left > right ? .orderedDescending : .orderedSame
                        #expect(l.compare(to: r) == expected, "groups \(left), \(right)")
                    }
                }
            }
        }
    }

    @Test("order bytes are in the order of their values, reversed when descending")
    func orderBytesAgree() throws {
        for isDescending in [false, true] {
            let bytes = try groups.map {
                try $0.map { try EncodedValue($0).orderBytes(isDescending: isDescending) }
            }
            for (left, lefts) in bytes.enumerated() {
                for l in lefts { #expect(l == lefts[0], "group \(left)") }
                guard left > 0 else { continue }
                let isBelow = bytes[left - 1][0].lexicographicallyPrecedes(lefts[0])
                #expect(isBelow != isDescending, "groups \(left - 1), \(left)")
            }
        }
    }

    @Test("random values have the order of the tests' model")
    func randomValuesAgree() throws {
        var random = SeededRandom()
        let builder = try RecordBuilder()
        for _ in 0..<20_000 {
            let (left, right) = (random.value(), random.value())
            let (l, r) = (try builder.encode(left), try builder.encode(right))
            guard left.modelOrder(to: right).signum() == l.compare(to: r).rawValue,
                (left == right) == (l == r)
            else {
                Issue.record("\(left) and \(right) differ between model and core; \(random)")
                return
            }
        }
    }

    @Test("type bounds enclose every value of the type and no other")
    func typeBoundsEnclose() throws {
        for value in groups.joined() where value.type != .max {
            let bytes = try EncodedValue(value).orderBytes()
            for type in ValueType.allCases where type != .max {
                let before = try EncodedValue.orderBytes(.before, type)
                let after = try EncodedValue.orderBytes(.after, type)
                let isInside =
                    !bytes.lexicographicallyPrecedes(before)
                    && bytes.lexicographicallyPrecedes(after)
                #expect(isInside == (type.rank == value.type.rank), "\(value) in \(type)")
            }
        }
    }
}

@Suite("The equality of values")
struct ValueEqualityTests {
    private static func pending(_ seconds: Int64, _ previous: Value?) -> Value {
        .serverTimestamp(
            PendingServerTimestamp(
                localWriteTime: Timestamp(seconds: seconds, nanoseconds: 0), previous: previous))
    }

    @Test("values that are equal have the same hash")
    func equalValues() throws {
        let pairs: [(Value, Value)] = [
            (.null, .null), (true, true), (1, 1), (1.5, 1.5),
            (.double(.nan), .double(-.signalingNaN)), ("é", "é"), (.bytes([]), .bytes([])),
            (Self.pending(1, "x"), Self.pending(1, 2)), ([1, [2]], [1, [2]]),
            (["a": 1, "b": .null], ["b": .null, "a": 1]),
            (.vector([.nan, 1]), .vector([-.nan, 1])), (.max, .max),
            (
                .geoPoint(GeoPoint(latitude: 0.0, longitude: 0)),
                .geoPoint(GeoPoint(latitude: -0.0, longitude: 0))
            ),
        ]
        for (left, right) in pairs {
            #expect(left == right)
            #expect(left.hashValue == right.hashValue, "\(left)")
            #expect(try EncodedValue(left) == EncodedValue(right), "\(left) in the core")
        }
    }

    @Test("integers and doubles differ, as do 0.0 and -0.0, also inside arrays and maps")
    func differentValues() throws {
        let pairs: [(Value, Value)] = [
            (1, 1.0), (0.0, -0.0), ([1], [1.0]), (["a": 0.0], ["a": -0.0]),
            (.vector([0.0]), .vector([-0.0])),
        ]
        for (left, right) in pairs {
            #expect(left != right)
            #expect(left.modelOrder(to: right) == 0, "\(left) and \(right)")
            #expect(try EncodedValue(left) != EncodedValue(right), "\(left) in the core")
        }
    }

    @Test("text is compared by its bytes, not by canonical equivalence")
    func composedAndDecomposed() {
        #expect(Value.string("é") != .string("e\u{301}"))
        #expect(MapValue(["é": 1]) != MapValue(["e\u{301}": 1]))
        #expect(ResourceName("é") != ResourceName("e\u{301}"))
    }

    @Test("values of different types differ")
    func typesDiffer() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let (left, right) = (random.value(), random.value())
            if left.type != right.type { #expect(left != right, "\(random)") }
        }
    }
}

@Suite("Values of Foundation's types")
struct ValueFoundationTests {
    @Test("bytes are copied from Data, and none are as good as empty")
    func data() {
        #expect(Value(bytes: Data([1, 2, 255])) == .bytes([1, 2, 255]))
        #expect(Value(bytes: Data()) == .bytes([]))
    }

    @Test("a date is cut to microseconds")
    func dates() throws {
        let date = Date(timeIntervalSince1970: 1_763_719_017.123_456_7)
        guard case .timestamp(let timestamp) = try Value(date: date) else {
            Issue.record("a date is no timestamp")
            return
        }
        #expect(timestamp.nanoseconds.isMultiple(of: 1000))
        #expect(abs(timestamp.dateValue().timeIntervalSince(date)) < 2e-6)
        #expect(throws: LarderError.self) { try Value(date: .distantFuture + 1e12) }
    }
}

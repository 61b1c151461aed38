import LarderModel
import LarderTestSupport
import Testing

@Suite("The equality of values")
struct ValueEqualityTests {
    private static func pending(_ seconds: Int64, _ previous: Value?) -> Value {
        .serverTimestamp(
            PendingServerTimestamp(
                localWriteTime: Timestamp(seconds: seconds, nanoseconds: 0), previous: previous))
    }

    @Test("1.4: values that are equal have the same hash")
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

    @Test("1.4: integers and doubles differ, as do 0.0 and -0.0, also inside arrays and maps")
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

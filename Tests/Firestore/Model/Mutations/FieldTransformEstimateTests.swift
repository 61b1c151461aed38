import LarderModel
import LarderTestSupport
import Testing

@Suite("Transforms")
struct FieldTransformEstimateTests {
    private let time = Timestamp(seconds: 7, nanoseconds: 0)

    private func estimate(_ operation: FieldTransform.Operation, _ previous: Value?) -> Value {
        operation.estimate(from: previous, localWriteTime: time)
    }

    @Test("an increment adds integers, and stays at the ends of their range")
    func increments() {
        #expect(estimate(.increment(2), 40) == 42)
        #expect(estimate(.increment(1), .integer(.max)) == .integer(.max))
        #expect(estimate(.increment(-1), .integer(.min)) == .integer(.min))
        #expect(estimate(.increment(.integer(.min)), -1) == .integer(.min))
    }

    @Test("an increment of or by a double is a double; a value that is not a number counts as 0")
    func incrementsOfDoubles() {
        #expect(estimate(.increment(0.5), 1) == 1.5)
        #expect(estimate(.increment(1), 0.5) == 1.5)
        #expect(estimate(.increment(3), "text") == 3)
        #expect(estimate(.increment(1.5), nil) == 1.5)
    }

    @Test("an increment of nothing is its operand, -0.0 too, with a base or without")
    func incrementsOfNothing() {
        for previous in [nil, "text", .null] as [Value?] {
            for operand in [-0.0, 0.0, 0, 1.5, 3, .double(.nan)] as [Value] {
                #expect(estimate(.increment(operand), previous).isIdentical(to: operand))
                let base = FieldTransform.Operation.increment(operand).baseValue(from: previous)
                #expect(estimate(.increment(operand), base).isIdentical(to: operand))
            }
        }
        #expect(estimate(.increment(-0.0), 0).isIdentical(to: 0.0))
        #expect(estimate(.increment(-0.0), 0.0).isIdentical(to: 0.0))
        #expect(estimate(.increment(-0.0), -0.0).isIdentical(to: -0.0))
    }

    @Test("minimum and maximum take the number's type with it")
    func extremes() {
        #expect(estimate(.minimum(1), 2.5) == 1)
        #expect(estimate(.minimum(1.5), 1) == 1)
        #expect(estimate(.maximum(1), 2.5) == 2.5)
        #expect(estimate(.maximum(3.0), 2) == 3.0)
        #expect(estimate(.minimum(5), nil) == 5)
        #expect(estimate(.maximum(5), "text") == 5)
    }

    @Test("of equal numbers the field's own stays, with its type and sign")
    func equalExtremes() {
        #expect(estimate(.minimum(3.0), 3) == 3)
        #expect(estimate(.maximum(3), 3.0) == 3.0)
        #expect(estimate(.minimum(0.0), -0.0) == -0.0)
        #expect(estimate(.maximum(-0.0), 0) == 0)
    }

    @Test("NaN wins over every number, on either side")
    func extremesOfNaN() {
        for make in [FieldTransform.Operation.minimum, FieldTransform.Operation.maximum] {
            #expect(estimate(make(1), .double(.nan)) == .double(.nan))
            #expect(estimate(make(.double(.nan)), 1) == .double(.nan))
        }
    }

    @Test("integers are compared as integers where doubles would tie")
    func largeIntegers() {
        let (low, high) = (Value.integer(.max - 1), Value.integer(.max))
        #expect(estimate(.minimum(low), high) == low)
        #expect(estimate(.maximum(high), low) == high)
        #expect(estimate(.maximum(low), high) == high)
    }

    @Test("an integer and a double are compared exactly, not as doubles")
    func mixedNumbers() {
        let (even, above) = (Value.double(0x1p53), Value.integer((1 << 53) + 1))
        #expect(estimate(.maximum(above), even) == above)
        #expect(estimate(.minimum(above), even) == even)
        #expect(estimate(.maximum(even), above) == above)
        #expect(estimate(.minimum(even), above) == even)
        #expect(estimate(.maximum(.double(0x1p63)), .integer(.max)) == .double(0x1p63))
        #expect(estimate(.maximum(.integer(.max)), .double(0x1p63)) == .double(0x1p63))
        #expect(estimate(.minimum(.integer(.min)), .double(-0x1p63)) == .double(-0x1p63))
        #expect(estimate(.minimum(-2.5), -2) == -2.5)
        #expect(estimate(.maximum(-2.5), -2) == -2)
        #expect(estimate(.maximum(.double(.infinity)), .integer(.max)) == .double(.infinity))
        #expect(estimate(.minimum(.double(-.infinity)), .integer(.min)) == .double(-.infinity))
        let numbers: [Value] = [
            .double(.nan), .double(-.infinity), .double(-0x1p63), .integer(.min), -3, -2.5, -2,
            -0.0, 0.0, 0, 1, 1.0, 1.5, 2, .double(0x1p53), .integer(1 << 53), above,
            .integer(.max), .double(0x1p63), .double(.infinity),
        ]
        for old in numbers.dropFirst() {
            for new in numbers.dropFirst() {
                let order = new.modelOrder(to: old)
                #expect(estimate(.maximum(new), old).isIdentical(to: order > 0 ? new : old))
                #expect(estimate(.minimum(new), old).isIdentical(to: order < 0 ? new : old))
            }
        }
    }

    @Test("a union appends missing elements without duplicates, by Firestore's equality")
    func unions() {
        #expect(estimate(.arrayUnion([2, 3, 3, 2.0]), [1, 2]) == [1, 2, 3])
        #expect(estimate(.arrayUnion([1, -0.0, 2]), [1.0, 0]) == [1.0, 0, 2])
        #expect(estimate(.arrayUnion([1]), "text") == [1])
        #expect(estimate(.arrayUnion([]), [1, 1]) == [1, 1])
    }

    @Test("a removal takes every equal element")
    func removals() {
        #expect(estimate(.arrayRemove([1]), [1, 2, 1, 1.0]) == [2])
        #expect(estimate(.arrayRemove([1.0, 2]), [1, 2.0, 3]) == [3])
        #expect(estimate(.arrayRemove([1]), nil) == [])
    }

    @Test("elements are equal if Firestore's order says so, at any depth")
    func equality() throws {
        let pairs: [(Value, Value, Bool)] = [
            (0, -0.0, true), (1, 1.0, true), (1, 1.5, false), (.double(.nan), .double(.nan), true),
            (.integer(1 << 53), .double(0x1p53), true),
            (.integer((1 << 53) + 1), .double(0x1p53), false),
            (.integer(.max), .double(0x1p63), false), (.integer(.min), .double(-0x1p63), true),
            ([1, ["a": 2]], [1.0, ["a": 2.0]], true), (["a": -0.0], ["a": 0], true),
            (.vector([1, -0.0]), .vector([1, 0]), true), (.vector([1]), [1.0], false),
            ("1", 1, false), (.null, false, false), ([1], [1, 1], false),
        ]
        for (left, right, isEqual) in pairs {
            #expect(estimate(.arrayRemove([right]), [left]) == (isEqual ? [] : [left]), "\(left)")
            #expect(estimate(.arrayRemove([left]), [right]) == (isEqual ? [] : [right]), "\(left)")
            #expect(
                estimate(.arrayUnion([right]), [left]) == (isEqual ? [left] : [left, right]),
                "\(left)")
        }
    }

    @Test("a server timestamp keeps the previous value, but not another pending timestamp")
    func serverTimestamps() {
        let first = estimate(.serverTimestamp, "before")
        guard case .serverTimestamp(let pending) = estimate(.serverTimestamp, first) else {
            Issue.record("no pending timestamp")
            return
        }
        #expect(pending.localWriteTime == time)
        #expect(pending.previous == "before")
    }

    @Test("the backend's value counts, but for arrays, which it does not answer")
    func committed() {
        #expect(
            FieldTransform.Operation.increment(1).committed(over: 5, serverValue: 100) == 100)
        #expect(
            FieldTransform.Operation.arrayUnion([2]).committed(over: [1], serverValue: .null)
                == [1, 2])
        #expect(
            FieldTransform.Operation.arrayRemove([1]).committed(over: [1], serverValue: .null)
                == [])
    }
}

extension Value {
    /// Whether both are numbers of one type with the same bits, but for NaN.
    fileprivate func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)):
            left.bitPattern == right.bitPattern || left.isNaN && right.isNaN
        default: false
        }
    }
}

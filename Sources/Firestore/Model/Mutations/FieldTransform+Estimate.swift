/// The result of a transform, as estimated by the client and as committed by the backend.
extension FieldTransform.Operation {
    /// The value of the local view until the backend responds.
    ///
    /// - Parameters:
    ///   - previous: the field's value before the mutation; nil if it is missing.
    ///   - localWriteTime: the time of the mutation, by the local clock.
    package func estimate(from previous: Value?, localWriteTime: Timestamp) -> Value {
        switch self {
        case .serverTimestamp:
            .serverTimestamp(
                PendingServerTimestamp(localWriteTime: localWriteTime, previous: previous))
        case .arrayUnion(let elements): Self.union(previous, elements)
        case .arrayRemove(let elements): Self.removal(previous, elements)
        case .increment(let operand): Self.sum(previous, operand)
        case .minimum(let operand): Self.extreme(previous, operand) { $0 < 0 }
        case .maximum(let operand): Self.extreme(previous, operand) { $0 > 0 }
        }
    }

    /// The value once the backend has committed the mutation.
    ///
    /// The backend's value, except for array transforms: the backend returns no value for those,
    /// and the client transforms its own array.
    package func committed(over previous: Value?, serverValue: Value) -> Value {
        switch self {
        case .arrayUnion(let elements): Self.union(previous, elements)
        case .arrayRemove(let elements): Self.removal(previous, elements)
        case .serverTimestamp, .increment, .minimum, .maximum: serverValue
        }
    }

    /// The base value of an increment; nil for other transforms.
    ///
    /// - Parameter previous: the field's value before the increment's batch.
    package func baseValue(from previous: Value?) -> Value? {
        guard case .increment(let operand) = self else { return nil }
        // Unlike 0, -0.0 leaves every double as it is when added to it.
        return previous?.number ?? (operand.type == .double ? .double(-0.0) : .integer(0))
    }

    /// The elements of an array, followed by new elements, without duplicates.
    private static func union(_ previous: Value?, _ elements: [Value]) -> Value {
        var result = previous?.elements ?? []
        var present = Set(result.map(\.canonical))
        for element in elements where present.insert(element.canonical).inserted {
            result.append(element)
        }
        return .array(result)
    }

    private static func removal(_ previous: Value?, _ elements: [Value]) -> Value {
        let removed = Set(elements.map(\.canonical))
        return .array(
            (previous?.elements ?? []).filter { !removed.contains($0.canonical) })
    }

    /// The sum of integers, saturating, or of doubles; the operand if there is no number before.
    private static func sum(_ previous: Value?, _ operand: Value) -> Value {
        guard let base = previous?.number else { return operand }
        if case .integer(let base) = base, case .integer(let operand) = operand {
            let (sum, overflows) = base.addingReportingOverflow(operand)
            return .integer(overflows ? (operand < 0 ? .min : .max) : sum)
        }
        guard let left = base.double, let right = operand.double else { return base }
        return .double(left + right)
    }

    /// The operand if it wins over the number before, else that number; NaN has precedence over all
    /// numbers, and the field's value over an equal operand.
    ///
    /// - Parameter wins: whether the operand wins, given its order to the number before: below,
    ///   equal to or above 0.
    private static func extreme(
        _ previous: Value?, _ operand: Value, _ wins: (Int) -> Bool
    ) -> Value {
        guard let previous = previous?.number else { return operand }
        if previous.isNaN { return previous }
        return operand.isNaN || wins(operand.numberOrder(to: previous)) ? operand : previous
    }
}

extension Value {
    /// The value if it is an integer or a double.
    fileprivate var number: Value? {
        switch self {
        case .integer, .double: self
        default: nil
        }
    }

    fileprivate var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    fileprivate var isNaN: Bool {
        if case .double(let number) = self { number.isNaN } else { false }
    }

    /// The order of two numbers that are not NaN, by their exact values: below, equal to or above 0.
    fileprivate func numberOrder(to other: Value) -> Int {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left < right ? -1 : left > right ? 1 : 0
        case (.double(let left), .double(let right)): left < right ? -1 : left > right ? 1 : 0
        case (.integer(let left), .double(let right)): left.order(to: right)
        case (.double(let left), .integer(let right)): -right.order(to: left)
        default: 0
        }
    }

    /// One value for all that are equal in Firestore's order, which compares numbers across types: 1
    /// and 1.0, 0 and -0.0, alone and within arrays, maps and vectors.
    fileprivate var canonical: Value {
        switch self {
        case .double(let number):
            if number.isNaN { return .double(.nan) }
            return Int64(exactly: number).map { .integer($0) } ?? self
        case .array(let elements): return .array(elements.map(\.canonical))
        case .map(let fields):
            return .map(MapValue(ordered: fields.map { ($0.name, $0.value.canonical) }))
        case .geoPoint(let point):
            return .geoPoint(
                GeoPoint(unchecked: point.latitude.unsignedZero, point.longitude.unsignedZero))
        case .vector(let vector):
            return .vector(VectorValue(vector.components.map(\.unsignedZero)))
        default: return self
        }
    }

    fileprivate var elements: [Value]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}

extension Int64 {
    /// The order of an integer to a double, without rounding the integer.
    fileprivate func order(to number: Double) -> Int {
        // Rounded towards 0: the integer part decides unless it is equal.
        guard let whole = Int64(exactly: number.rounded(.towardZero)) else {
            return number > 0 ? -1 : 1
        }
        if self != whole { return self < whole ? -1 : 1 }
        let fraction = number - number.rounded(.towardZero)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }
}

extension Double {
    /// The number, or 0 for -0.
    fileprivate var unsignedZero: Double { self == 0 ? 0 : self }
}

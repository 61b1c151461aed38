import LarderModel

/// Fields and transforms of ``LocalModel``, said again without the code that is tried.
extension MapValue {
    func value(at path: FieldPath) -> Value? {
        var value = Value.map(self)
        for name in path.segments {
            guard case .map(let map) = value, let inner = map[name] else { return nil }
            value = inner
        }
        return value
    }

    /// 1.9: sets a value, or deletes it for nil; maps on the way are made either way.
    mutating func put(_ value: Value?, at path: FieldPath) {
        self = Self.putting(value, path.segments[...], into: self)
    }

    private static func putting(
        _ value: Value?, _ names: ArraySlice<String>, into map: MapValue
    ) -> MapValue {
        var map = map
        guard let name = names.first else { return map }
        if names.count == 1 {
            map[name] = value
        } else {
            var inner = MapValue()
            if case .map(let present)? = map[name] { inner = present }
            map[name] = .map(putting(value, names.dropFirst(), into: inner))
        }
        return map
    }
}

extension FieldTransform.Operation {
    /// 3.4.
    func modelEstimate(_ old: Value?, _ time: Timestamp) -> Value {
        var array: [Value] = []
        if case .array(let elements)? = old { array = elements }
        switch self {
        case .serverTimestamp:
            return .serverTimestamp(PendingServerTimestamp(localWriteTime: time, previous: old))
        case .arrayUnion(let elements):
            for element in elements where !array.contains(element) { array.append(element) }
            return .array(array)
        case .arrayRemove(let elements):
            return .array(array.filter { !elements.contains($0) })
        case .increment(let operand):
            switch (old, operand) {
            case (.integer(let l), .integer(let r)):
                let sum = Double(l) + Double(r)
                if sum > 9.3e18 { return .integer(.max) }
                if sum < -9.3e18 { return .integer(.min) }
                let (result, overflows) = l.addingReportingOverflow(r)
                return .integer(overflows ? (l > 0 ? .max : .min) : result)
            case (.integer(let l), .double(let r)): return .double(Double(l) + r)
            case (.double(let l), .integer(let r)): return .double(l + Double(r))
            case (.double(let l), .double(let r)): return .double(l + r)
            case (_, .double(let r)): return .double(0 + r)
            default: return operand
            }
        case .minimum(let operand), .maximum(let operand):
            let isMinimum = if case .minimum = self { true } else { false }
            if case .integer(let l)? = old, case .integer(let r) = operand {
                return .integer(isMinimum ? min(l, r) : max(l, r))
            }
            guard let old, let l = old.modelNumber, let r = operand.modelNumber else {
                return operand
            }
            if l.isNaN { return old }
            if r.isNaN { return operand }
            if l == r { return old }
            return (l < r) == isMinimum ? old : operand
        }
    }
}

extension Value {
    fileprivate var modelNumber: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }
}

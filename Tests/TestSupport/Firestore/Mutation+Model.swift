import Foundation
package import LarderModel

/// What mutations do, said again without the code that is tried.
extension Mutation {
    /// The fields that the mutation leaves; nil where it deletes.
    ///
    /// - Parameters:
    ///   - before: the fields that were there; nil for no document.
    ///   - transformed: a transform's result over what was at its path.
    package func modelFields(
        over before: MapValue?, transformed: (FieldTransform, Value?) -> Value
    ) -> MapValue? {
        var fields: MapValue
        switch operation {
        case .delete, .verify: return nil
        case .set(let record): fields = record.fields
        case .patch(let record, let mask):
            fields = before ?? MapValue()
            for path in mask.paths {
                // What leads to a path of the mask has that one's value, too.
                if mask.paths.contains(where: { $0 != path && $0.isPrefix(of: path) }) { continue }
                fields.put(record.fields.value(at: path), at: path)
            }
        }
        for transform in transforms {
            fields.put(
                transformed(transform, before?.value(at: transform.path)), at: transform.path)
        }
        return fields
    }

    /// The fields that a backend's commit of the mutation leaves: each transform sees what the
    /// operation and the transforms before it have left.
    package func committedModelFields(
        over before: MapValue?, transformed: (FieldTransform, Value?) -> Value
    ) -> MapValue? {
        let untransformed = Mutation(operation, at: path)
        guard var fields = untransformed.modelFields(over: before, transformed: transformed) else {
            return nil
        }
        for transform in transforms {
            fields.put(transformed(transform, fields.value(at: transform.path)), at: transform.path)
        }
        return fields
    }
}

extension FieldTransform.Operation {
    /// 3.4: the value before the backend has said its own.
    package func modelEstimate(_ old: Value?, _ time: Timestamp) -> Value {
        var array: [Value] = []
        if case .array(let elements)? = old { array = elements }
        switch self {
        case .serverTimestamp:
            return .serverTimestamp(PendingServerTimestamp(localWriteTime: time, previous: old))
        case .arrayUnion(let elements):
            for element in elements
            where !array.contains(where: { (try? $0.compare(to: element)) == .orderedSame }) {
                array.append(element)
            }
            return .array(array)
        case .arrayRemove(let elements):
            return .array(
                array.filter { old in
                    !elements.contains { (try? $0.compare(to: old)) == .orderedSame }
                })
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
            default: return operand
            }
        case .minimum(let operand), .maximum(let operand):
            let isMinimum = if case .minimum = self { true } else { false }
            guard let old, let l = old.modelNumber, let r = operand.modelNumber else {
                return operand
            }
            if l.isNaN { return old }
            if r.isNaN { return operand }
            let order = old.modelOrder(to: operand)
            if order == 0 { return old }
            return (order < 0) == isMinimum ? old : operand
        }
    }
}

extension Timestamp {
    /// The server timestamp of a commit at this time.
    package var modelServerTimestamp: Timestamp {
        Timestamp(seconds: seconds, nanoseconds: nanoseconds / 1_000_000 * 1_000_000)
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

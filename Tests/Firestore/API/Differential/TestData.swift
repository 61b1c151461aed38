import Foundation
import Larder
import LarderModel
import LarderTestSupport

/// A value as an application hands it over: sentinels may stand in its maps.
enum TestData {
    case value(Value)
    case map([TestField])
    case transform(FieldTransform.Operation)
    case delete

    /// What the API takes.
    func argument(in database: Firestore) -> Any {
        switch self {
        case .value(let value): value.argument(in: database)
        case .map(let entries):
            [String: Any](
                entries.map { ($0.name, $0.data.argument(in: database)) }, uniquingKeysWith: { $1 })
        case .transform(let operation): operation.argument(in: database)
        case .delete: FieldValue.delete()
        }
    }

    /// The value without sentinels; nil for a sentinel.
    var value: Value? {
        switch self {
        case .value(let value): return value
        case .map(let entries):
            var map = MapValue()
            for entry in entries { map[entry.name] = entry.data.value }
            return .map(map)
        case .transform, .delete: return nil
        }
    }

    /// The transforms in it, in no order.
    func transforms(at path: [String]) -> [FieldTransform] {
        switch self {
        case .value, .delete: []
        case .map(let entries): entries.flatMap { $0.data.transforms(at: path + [$0.name]) }
        case .transform(let operation): [FieldTransform(FieldPath(unchecked: path), operation)]
        }
    }

    /// The paths that a merge sets or deletes.
    func leaves(at path: [String]) -> [LarderModel.FieldPath] {
        switch self {
        case .map(let entries) where !entries.isEmpty:
            entries.flatMap { $0.data.leaves(at: path + [$0.name]) }
        case .value(.map(let map)) where !map.isEmpty:
            map.flatMap { TestData.value($0.value).leaves(at: path + [$0.name]) }
        case .transform: []
        default: path.isEmpty ? [] : [FieldPath(unchecked: path)]
        }
    }
}

/// A field of a map or a document, as an application hands it over.
struct TestField {
    var name: String
    var data: TestData
}

extension FieldTransform.Operation {
    fileprivate func argument(in database: Firestore) -> Any {
        switch self {
        case .serverTimestamp: FieldValue.serverTimestamp()
        case .arrayUnion(let values):
            FieldValue.arrayUnion(values.map { $0.argument(in: database) })
        case .arrayRemove(let values):
            FieldValue.arrayRemove(values.map { $0.argument(in: database) })
        case .increment(.integer(let amount)): FieldValue.increment(amount)
        case .increment(let amount): FieldValue.increment(amount.number)
        case .minimum(.integer(let number)): FieldValue.minimum(number)
        case .minimum(let number): FieldValue.minimum(number.number)
        case .maximum(.integer(let number)): FieldValue.maximum(number)
        case .maximum(let number): FieldValue.maximum(number.number)
        }
    }
}

extension Value {
    fileprivate var number: Double { if case .double(let number) = self { number } else { 0 } }

    /// What the API takes.
    func argument(in database: Firestore) -> Any {
        switch self {
        case .null, .max, .serverTimestamp: NSNull()
        case .boolean(let value): value
        case .integer(let value): value
        case .double(let value): value
        case .timestamp(let value): value
        case .string(let value): value
        case .bytes(let value): Data(value)
        case .reference(let name): database.document(name.document?.string ?? "")
        case .geoPoint(let value): value
        case .array(let values): values.map { $0.argument(in: database) }
        case .vector(let value): value
        case .map(let map):
            [String: Any](
                map.map { ($0.name, $0.value.argument(in: database)) }, uniquingKeysWith: { $1 })
        }
    }

    /// Whether the API gave this value, numbers with their type and every bit.
    func isRead(as given: Any?, _ behavior: ServerTimestampBehavior = .none) -> Bool {
        switch self {
        case .null, .max: return given is NSNull
        case .boolean(let value): return Self.isNumber(given, "c") { $0.boolValue == value }
        case .integer(let value): return Self.isNumber(given, "i", "q") { $0.int64Value == value }
        case .double(let value):
            return Self.isNumber(given, "d") { Value.double($0.doubleValue) == .double(value) }
        case .timestamp(let value): return given as? Timestamp == value
        case .serverTimestamp(let pending):
            switch behavior {
            case .none: return given is NSNull
            case .estimate: return given as? Timestamp == pending.localWriteTime
            case .previous:
                return pending.previous?.isRead(as: given, behavior) ?? (given is NSNull)
            }
        case .string(let value):
            return (given as? String).map { $0.utf8.elementsEqual(value.utf8) } ?? false
        case .bytes(let value): return given as? Data == Data(value)
        case .reference(let name):
            return (given as? DocumentReference)?.path == name.document?.string
        case .geoPoint(let value): return given as? GeoPoint == value
        case .array(let values):
            guard let given = given as? [Any], given.count == values.count else { return false }
            return zip(values, given).allSatisfy { $0.isRead(as: $1, behavior) }
        case .vector(let value): return given as? VectorValue == value
        case .map(let map):
            guard let given = given as? [String: Any], given.count == map.count else {
                return false
            }
            return map.allSatisfy { $0.value.isRead(as: given[$0.name], behavior) }
        }
    }

    private static func isNumber(
        _ given: Any?, _ types: String..., test: (NSNumber) -> Bool
    ) -> Bool {
        guard let number = given as? NSNumber else { return false }
        return types.contains(String(cString: number.objCType)) && test(number)
    }
}

import Foundation
import LarderModel

/// Converts stored values to the Swift values of Apple's SDK: null to `NSNull`, booleans and
/// numbers to `NSNumber`, which casts to any number type, bytes to `Data`, arrays to `[Any]`, maps
/// to `[String: Any]`.
///
/// Decodes directly from the record without intermediate values.
struct UserDataWriter {
    /// The value of pending server timestamps.
    let serverTimestamps: ServerTimestampBehavior

    /// Creates the application's object for a reference.
    let makeReference: (ResourceName) -> Any

    /// All fields of a document; empty if `Record.load()` fails.
    func fields(of record: Record) -> [String: Any] {
        var fields = [String: Any](minimumCapacity: record.count)
        try? record.withView { (view) throws(LarderError) in
            try view.forEachField { name, value in
                fields[name] = self.value(value)
                return .continue
            }
        }
        return fields
    }

    /// The value of one field; nil if there is none or `Record.load()` fails.
    func value(at path: LarderModel.FieldPath, in record: Record) -> Any? {
        record.withView { view in
            (try? view.withValue(at: path) { self.value($0) }) ?? nil
        }
    }

    /// Converts a borrowed value.
    func value(_ value: borrowing ValueView) -> Any {
        switch value.type {
        case .string: return value.text ?? ""
        case .integer: return NSNumber(value: value.integer ?? 0)
        case .double: return NSNumber(value: value.double ?? 0)
        case .boolean: return Self.boxed(value.boolean ?? false)
        case .timestamp: return value.timestamp ?? Timestamp.epoch
        case .map: return map(value)
        case .array: return array(value)
        case .bytes: return value.withUnsafeContent { Data($0) } ?? Data()
        case .reference: return makeReference(ResourceName(value.text ?? ""))
        case .geoPoint: return value.geoPoint ?? GeoPoint(latitude: 0, longitude: 0)
        case .vector: return value.vector ?? VectorValue([])
        case .serverTimestamp: return pending(value)
        case .null, .max, nil: return NSNull()
        }
    }

    private func map(_ value: borrowing ValueView) -> [String: Any] {
        var entries = [String: Any](minimumCapacity: value.count ?? 0)
        value.forEachEntry { name, entry in
            entries[name] = self.value(entry)
            return .continue
        }
        return entries
    }

    private func array(_ value: borrowing ValueView) -> [Any] {
        var elements: [Any] = []
        elements.reserveCapacity(value.count ?? 0)
        value.forEachElement { element in
            elements.append(self.value(element))
            return .continue
        }
        return elements
    }

    /// A boolean as an object, one for each value.
    private static func boxed(_ boolean: Bool) -> NSNumber { boolean ? yes : no }

    private static let yes = NSNumber(value: true)
    private static let no = NSNumber(value: false)

    private func pending(_ value: borrowing ValueView) -> Any {
        switch serverTimestamps {
        case .none: return NSNull()
        case .estimate: return value.localWriteTime ?? Timestamp.epoch
        case .previous: return value.withPreviousValue { self.value($0) } ?? NSNull()
        }
    }
}

// MARK: - Value

extension UserDataWriter {
    /// Converts a decoded value, such as the result of an aggregation.
    func value(_ value: Value) -> Any {
        switch value {
        case .null, .max: NSNull()
        case .boolean(let boolean): Self.boxed(boolean)
        case .integer(let integer): NSNumber(value: integer)
        case .double(let number): NSNumber(value: number)
        case .timestamp(let time): time
        case .serverTimestamp(let pending): self.value(pending.resolved(serverTimestamps.model))
        case .string(let text): text
        case .bytes(let bytes): Data(bytes)
        case .reference(let name): makeReference(name)
        case .geoPoint(let place): place
        case .array(let values): values.map { self.value($0) }
        case .vector(let vector): vector
        case .map(let entries):
            [String: Any](entries.lazy.map { ($0.name, self.value($0.value)) }) { _, last in last }
        }
    }
}

extension ServerTimestampBehavior {
    var model: PendingServerTimestamp.Behavior {
        switch self {
        case .none: .none
        case .estimate: .estimate
        case .previous: .previous
        }
    }
}

/// The value of pending server timestamps in snapshots.
public enum ServerTimestampBehavior: Int, Hashable, Sendable {
    /// Null.
    case none = 0
    /// The local time of the write.
    case estimate = 1
    /// The field's value before the write, or null if there was none.
    case previous = 2
}

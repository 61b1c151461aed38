internal import Foundation
internal import LarderModel

extension UserDataWriter {
    /// A value that is in memory, such as the result of an aggregate.
    func value(_ value: Value) -> Any {
        switch value {
        case .null, .max: NSNull()
        case .boolean(let boolean): NSNumber(value: boolean)
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
    /// The same for values.
    var model: PendingServerTimestamp.Behavior {
        switch self {
        case .none: .none
        case .estimate: .estimate
        case .previous: .previous
        }
    }
}

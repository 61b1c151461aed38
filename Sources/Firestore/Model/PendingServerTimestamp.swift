/// A server timestamp in a local write that the backend has not acknowledged yet.
public struct PendingServerTimestamp: Sendable {
    private indirect enum Previous: Sendable {
        case none
        case value(Value)
    }

    /// When the write was made, by the local clock.
    public let localWriteTime: Timestamp

    private let storage: Previous

    /// What the field held before the write; nil when it was missing.
    public var previous: Value? {
        switch storage {
        case .none: nil
        case .value(let value): value
        }
    }

    /// A pending timestamp over what the field held before.
    ///
    /// A previous value that is itself pending is replaced by its own previous value, so that
    /// nesting never grows.
    public init(localWriteTime: Timestamp, previous: Value? = nil) {
        self.localWriteTime = localWriteTime
        switch previous {
        case nil: storage = .none
        case .serverTimestamp(let pending): storage = pending.storage
        case .some(let value): storage = .value(value)
        }
    }

    /// How a pending timestamp reads.
    public enum Behavior: Hashable, Sendable {
        /// As null.
        case none
        /// As the local write time.
        case estimate
        /// As the value before the write, or null.
        case previous
    }

    /// The value that a reader with the given behaviour sees.
    public func resolved(_ behavior: Behavior) -> Value {
        switch behavior {
        case .none: .null
        case .estimate: .timestamp(localWriteTime)
        case .previous: previous ?? .null
        }
    }
}

extension PendingServerTimestamp: Hashable {
    /// Whether the local write times are equal; what was there before does not count.
    public static func == (left: PendingServerTimestamp, right: PendingServerTimestamp) -> Bool {
        left.localWriteTime == right.localWriteTime
    }

    /// Hashes the local write time.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(localWriteTime)
    }
}

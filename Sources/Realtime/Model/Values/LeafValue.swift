/// The value of a leaf of the tree.
package enum LeafValue: Hashable, Sendable {
    case boolean(Bool)
    case number(LeafNumber)
    case string(String)
    /// A value that the server computes when it applies the write.
    case deferred(ServerValue)

    /// An integer.
    package static func integer(_ integer: Int64) -> LeafValue {
        .number(LeafNumber(integer))
    }

    /// A double; nil unless it is finite.
    package static func double(_ double: Double) -> LeafValue? {
        LeafNumber(double).map { .number($0) }
    }

    /// Equality of numbers is that of ``LeafNumber``; strings are compared by their bytes.
    package static func == (left: LeafValue, right: LeafValue) -> Bool {
        switch (left, right) {
        case (.boolean(let l), .boolean(let r)): l == r
        case (.number(let l), .number(let r)): l == r
        case (.string(let l), .string(let r)): l.isSameText(as: r)
        case (.deferred(let l), .deferred(let r)): l == r
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .boolean(let flag): hasher.combine(flag)
        case .number(let number): hasher.combine(number)
        case .string(let string): string.hashUTF8(into: &hasher)
        case .deferred(let value): hasher.combine(value)
        }
    }

    /// The longest string, in bytes of UTF-8.
    package static let maximumStringBytes = 10 << 20
}

/// A value that the server computes when it applies a write.
package enum ServerValue: Hashable, Sendable {
    /// The time of the write, in milliseconds since the Unix epoch.
    case timestamp
    /// The number at the place before the write plus another, or that other alone where there is
    /// no number.
    case increment(LeafNumber)
}

/// The priority of a node, by which its parent orders it first.
package enum Priority: Hashable, Sendable {
    case none
    case number(LeafNumber)
    case string(String)
    /// A value that the server computes when it applies the write.
    case deferred(ServerValue)

    /// The priority that a value stands for; nil for a boolean, which is none.
    package init?(_ leaf: LeafValue?) {
        switch leaf {
        case nil: self = .none
        case .number(let number): self = .number(number)
        case .string(let string): self = .string(string)
        case .deferred(let value): self = .deferred(value)
        case .boolean: return nil
        }
    }

    /// The priority as a leaf's value; nil for none.
    package var leaf: LeafValue? {
        switch self {
        case .none: nil
        case .number(let number): .number(number)
        case .string(let string): .string(string)
        case .deferred(let value): .deferred(value)
        }
    }

    package static func == (left: Priority, right: Priority) -> Bool {
        left.leaf == right.leaf
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(leaf)
    }
}

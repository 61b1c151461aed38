import LarderModel

/// A JSON text, with numbers as they were written and members in their order.
enum JSONNode {
    typealias Member = (name: String, value: JSONNode)

    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    case array([JSONNode])
    case object([Member])

    var isObject: Bool {
        if case .object = self { true } else { false }
    }

    /// The member of a name, the last of several; nil when there is none or it is null.
    subscript(name: String) -> JSONNode? {
        guard case .object(let members) = self else { return nil }
        let found = members.last { $0.name.hasSameUTF8(as: name) }?.value
        if case .null = found { return nil }
        return found
    }
}

/// What an object must have, or a malformed bundle. Members that are missing or null have their
/// type's default, as in every text that Protocol Buffers write.
extension JSONNode {
    /// Text; empty by default.
    func string(_ name: String) throws(LarderError) -> String {
        switch self[name] {
        case nil: return ""
        case .string(let text): return text
        default: throw .malformedBundle("'\(name)' is no text")
        }
    }

    /// An integer of 64 bits, as a number or as text; 0 by default.
    func integer(_ name: String) throws(LarderError) -> Int64 {
        try self[name]?.integer() ?? 0
    }

    /// False by default.
    func boolean(_ name: String) throws(LarderError) -> Bool {
        switch self[name] {
        case nil: return false
        case .boolean(let value): return value
        default: throw .malformedBundle("'\(name)' is neither true nor false")
        }
    }

    /// Empty by default.
    func array(_ name: String) throws(LarderError) -> [JSONNode] {
        switch self[name] {
        case nil: return []
        case .array(let elements): return elements
        default: throw .malformedBundle("'\(name)' is no list")
        }
    }

    /// Empty by default.
    func members(_ name: String) throws(LarderError) -> [Member] {
        switch self[name] {
        case nil: return []
        case .object(let members): return members
        default: throw .malformedBundle("'\(name)' is no object")
        }
    }

    /// An instant that must be there.
    func timestamp(_ name: String) throws(LarderError) -> Timestamp {
        guard let node = self[name] else { throw .malformedBundle("'\(name)' is missing") }
        return try node.timestamp()
    }

    /// A number, or text that is one.
    func integer() throws(LarderError) -> Int64 {
        switch self {
        case .number(let text), .string(let text):
            if let number = Int64(text) { return number }
            if let number = Self.finite(text).flatMap({ Int64(exactly: $0) }) { return number }
        default: break
        }
        throw .malformedBundle("a number is no integer of 64 bits")
    }

    /// A number, or text that is one; also NaN and the infinities.
    func double() throws(LarderError) -> Double {
        switch self {
        case .string("NaN"): return .nan
        case .string("Infinity"): return .infinity
        case .string("-Infinity"): return -.infinity
        case .number(let text), .string(let text):
            if let number = Self.finite(text) { return number }
        default: break
        }
        throw .malformedBundle("a number is no double")
    }

    /// A decimal number in the range of doubles; Swift reads other notations, too.
    private static func finite(_ text: String) -> Double? {
        guard text.utf8.allSatisfy("0123456789+-.eE".utf8.contains) else { return nil }
        return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    /// An instant: text in RFC 3339, or an object of seconds and nanoseconds.
    func timestamp() throws(LarderError) -> Timestamp {
        switch self {
        case .string(let text):
            if let time = Timestamp(rfc3339: text) { return time }
        case .object:
            let (seconds, nanoseconds) = (try integer("seconds"), try integer("nanos"))
            if let nanoseconds = Int32(exactly: nanoseconds),
                let time = try? Timestamp(validatingSeconds: seconds, nanoseconds: nanoseconds)
            {
                return time
            }
        default: break
        }
        throw .malformedBundle("a time is none")
    }
}

extension LarderError {
    /// A bundle that is not as one must be.
    static func malformedBundle(_ reason: String, cause: LarderError? = nil) -> LarderError {
        LarderError(.invalidArgument, "the bundle is malformed: \(reason)", cause: cause)
    }
}

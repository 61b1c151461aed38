/// A JSON value as a tree: numbers as integers or doubles, members in their order.
///
/// Equality is that of the text: 1 and 1.0 differ, and so do strings and names of different
/// bytes, even where Unicode holds them to be canonically equivalent. NaN equals itself.
package enum JSONValue: Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])

    /// The value of the last member with a name; nil if there is none or this is not an object.
    ///
    /// Complexity: linear in the count of members.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.hasSameUTF8(as: name) }?.value
    }
}

/// A member of an object.
package struct JSONMember: Sendable {
    package var name: String
    package var value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
        self.name = name
        self.value = value
    }
}

extension JSONValue: Equatable {
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let l), .boolean(let r)): l == r
        case (.integer(let l), .integer(let r)): l == r
        case (.double(let l), .double(let r)):
            l.isNaN ? r.isNaN : l.bitPattern == r.bitPattern
        case (.string(let l), .string(let r)): l.hasSameUTF8(as: r)
        case (.array(let l), .array(let r)): l == r
        case (.object(let l), .object(let r)): l == r
        default: false
        }
    }
}

extension JSONMember: Equatable {
    package static func == (left: JSONMember, right: JSONMember) -> Bool {
        left.name.hasSameUTF8(as: right.name) && left.value == right.value
    }
}

// MARK: - Reading

/// The treatment of names that an object has more than once.
package enum JSONDuplicateNames: Sendable {
    case refused
    /// All members are kept, in their order.
    case kept
}

extension JSONValue {
    /// Reads a text.
    ///
    /// - Parameters:
    ///   - maximumDepth: how deep arrays and objects may be nested, at most 1,000.
    ///   - duplicateNames: the treatment of names that an object has more than once.
    package init(
        parsing text: UnsafeRawBufferPointer, maximumDepth: Int = 100,
        duplicateNames: JSONDuplicateNames = .refused
    ) throws(JSONError) {
        // A bound for the recursion here, in equality and in the release of the tree.
        var reader = JSONReader(text, maximumDepth: min(maximumDepth, 1000))
        var builder = JSONTreeBuilder(refusesDuplicates: duplicateNames == .refused)
        _ = reader.peek()
        self = try builder.readValue(&reader)
        try reader.finish()
    }

    /// Reads the next value of a text, in which no object has a name twice.
    package init(reading reader: inout JSONReader) throws(JSONError) {
        var builder = JSONTreeBuilder(refusesDuplicates: true)
        _ = reader.peek()
        self = try builder.readValue(&reader)
    }

    package init(
        parsing text: [UInt8], maximumDepth: Int = 100,
        duplicateNames: JSONDuplicateNames = .refused
    ) throws(JSONError) {
        self = try text.withUnsafeBufferPointer { (bytes) throws(JSONError) in
            try JSONValue(
                parsing: UnsafeRawBufferPointer(bytes), maximumDepth: maximumDepth,
                duplicateNames: duplicateNames)
        }
    }
}

/// Builds trees of ``JSONValue``; the members of all open arrays and objects lie on two stacks, so
/// that each array is allocated once, in its size.
private struct JSONTreeBuilder: ~Copyable {
    let refusesDuplicates: Bool
    private var elements = JSONStack<JSONValue>()
    private var members = JSONStack<JSONMember>()

    init(refusesDuplicates: Bool) {
        self.refusesDuplicates = refusesDuplicates
    }

    mutating func readValue(_ reader: inout JSONReader) throws(JSONError) -> JSONValue {
        guard let byte = reader.byte else { throw reader.expectedValue() }
        switch byte {
        case UInt8(ascii: "\""): return .string(try reader.readString())
        case UInt8(ascii: "{"): return .object(try readMembers(&reader))
        case UInt8(ascii: "["): return .array(try readElements(&reader))
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean(try reader.readBoolean())
        case UInt8(ascii: "n"):
            try reader.readNull()
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            switch try reader.readNumber() {
            case .integer(let integer): return .integer(integer)
            case .negativeZero: return .double(-0.0)
            case .double(let double): return .double(double)
            }
        default: throw reader.expectedValue()
        }
    }

    private mutating func readElements(_ reader: inout JSONReader) throws(JSONError) -> [JSONValue]
    {
        let start = elements.count
        try reader.readArray { (reader) throws(JSONError) in
            elements.push(try readValue(&reader))
        }
        return elements.popArray(from: start)
    }

    private mutating func readMembers(_ reader: inout JSONReader) throws(JSONError) -> [JSONMember]
    {
        let (start, offset) = (members.count, reader.offset)
        try reader.readObject { (reader, name) throws(JSONError) in
            members.push(JSONMember(name, try readValue(&reader)))
        }
        let object = members.popArray(from: start)
        if refusesDuplicates, let name = object.duplicateName {
            throw JSONError(offset: offset, reason: "duplicate name '\(name)'")
        }
        return object
    }
}

extension [JSONMember] {
    /// The first name that an earlier member has, too; nil if all names differ.
    ///
    /// Complexity: linear in the count of members.
    package var duplicateName: String? {
        if count <= 8 {
            for last in indices {
                for first in 0..<last where self[first].name.hasSameUTF8(as: self[last].name) {
                    return self[last].name
                }
            }
            return nil
        }
        // Most large objects are sorted.
        if zip(self, dropFirst()).allSatisfy({ $0.name.utf8Order(to: $1.name) < 0 }) { return nil }
        // Keyed by bytes; Swift's hashing is seeded, so that no sender can make names collide.
        var seen = Set<UTF8Name>(minimumCapacity: count)
        return first { !seen.insert(UTF8Name(string: $0.name)).inserted }?.name
    }
}

/// A name, compared by its bytes.
private struct UTF8Name: Hashable {
    let string: String

    static func == (left: UTF8Name, right: UTF8Name) -> Bool {
        left.string.hasSameUTF8(as: right.string)
    }

    func hash(into hasher: inout Hasher) {
        string.hashUTF8(into: &hasher)
    }
}

/// A stack whose top elements are moved into arrays.
private struct JSONStack<Element>: ~Copyable {
    private(set) var count = 0
    private var capacity = 0
    private var storage: UnsafeMutablePointer<Element>?

    init() {}

    deinit {
        storage?.deinitialize(count: count)
        storage?.deallocate()
    }

    mutating func push(_ element: consuming Element) {
        if count == capacity { grow() }
        guard let storage else { return }
        (storage + count).initialize(to: element)
        count += 1
    }

    /// Moves the elements from an index on into an array.
    mutating func popArray(from start: Int) -> [Element] {
        guard count > start, let storage else { return [] }
        let size = count - start
        count = start
        return Array(unsafeUninitializedCapacity: size) { buffer, initializedCount in
            buffer.baseAddress?.moveInitialize(from: storage + start, count: size)
            initializedCount = size
        }
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: max(32, capacity * 2))
        if let storage {
            larger.moveInitialize(from: storage, count: count)
            storage.deallocate()
        }
        storage = larger
        capacity = max(32, capacity * 2)
    }
}

/// A value of a suite with its place in it, for the messages of what cannot be read.
struct SpecNode: Sendable {
    let value: JSONValue
    let place: String

    /// A value at a place.
    init(_ value: JSONValue, at place: String) {
        self.value = value
        self.place = place
    }

    /// What is wrong with the value.
    func failure(_ message: String) -> SpecVocabularyError {
        SpecVocabularyError(message: "\(place): \(message)")
    }

    private func mismatch(_ expected: String) -> SpecVocabularyError {
        failure("\(value) is not \(expected)")
    }

    /// Whether it is `null`.
    var isNull: Bool { value == .null }

    func string() throws -> String {
        guard case .string(let text) = value else { throw mismatch("a string") }
        return text
    }

    func bool() throws -> Bool {
        guard case .bool(let flag) = value else { throw mismatch("true or false") }
        return flag
    }

    func integer<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws -> Number {
        guard case .integer(let number) = value, let number = Number(exactly: number) else {
            throw mismatch("an integer in range")
        }
        return number
    }

    /// A flag that is only ever set.
    func always() throws {
        guard try bool() else { throw mismatch("true") }
    }

    func array() throws -> [SpecNode] {
        guard case .array(let elements) = value else { throw mismatch("an array") }
        return elements.enumerated().map { SpecNode($1, at: "\(place)[\($0)]") }
    }

    /// An array of so many elements.
    func tuple(_ count: Int) throws -> [SpecNode] {
        let elements = try array()
        guard elements.count == count else { throw mismatch("an array of \(count)") }
        return elements
    }

    /// Reads an object; every member of it must be taken.
    func object<Result>(_ read: (inout SpecObject) throws -> Result) throws -> Result {
        guard case .object(let members) = value else { throw mismatch("an object") }
        var object = SpecObject(members, at: place)
        let result = try read(&object)
        try object.finish()
        return result
    }
}

/// The members of an object, of which none may be passed over.
struct SpecObject {
    private let place: String
    private var members: [String: JSONValue]

    init(_ members: [String: JSONValue], at place: String) {
        self.members = members
        self.place = place
    }

    /// The members that were not taken, in order.
    var rest: [String] { members.keys.sorted() }

    /// Takes a member; nil when there is none.
    mutating func takeIfPresent(_ key: String) -> SpecNode? {
        members.removeValue(forKey: key).map { SpecNode($0, at: "\(place).\(key)") }
    }

    /// Takes a member that must be there.
    mutating func take(_ key: String) throws -> SpecNode {
        guard let node = takeIfPresent(key) else {
            throw SpecVocabularyError(message: "\(place): '\(key)' is missing")
        }
        return node
    }

    /// Throws for members that were not read.
    func finish() throws {
        guard members.isEmpty else {
            let keys = rest.map { "'\($0)'" }.joined(separator: ", ")
            throw SpecVocabularyError(message: "\(place): unknown key \(keys)")
        }
    }
}

/// Something in a suite that the vocabulary does not have.
struct SpecVocabularyError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}

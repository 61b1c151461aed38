internal import LarderModel

/// The path of a field in a document: the names of the enclosing maps and of the field.
///
/// For simple names a dotted string such as `"stats.area"` suffices; a `FieldPath` can contain
/// names with any characters. Names are validated when the path is used: an empty path, an empty
/// name or more than 1,500 bytes cause an error with the code `invalidArgument`.
public struct FieldPath: Sendable {
    let names: [String]

    /// Creates a path of names, which may contain any characters, including dots.
    public init(_ fieldNames: [String]) {
        names = fieldNames
    }

    /// The document ID as a field for filters and orders.
    public static func documentID() -> FieldPath {
        FieldPath(["__name__"])
    }
}

extension FieldPath: Hashable, ObjectComparable {
    /// True if the names are equal byte by byte.
    public static func == (left: FieldPath, right: FieldPath) -> Bool {
        left.names.elementsEqual(right.names) { $0.hasSameUTF8(as: $1) }
    }

    /// Hashes the names.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(names.count)
        for name in names { name.hashUTF8(into: &hasher) }
    }
}

extension FieldPath: CustomStringConvertible {
    /// The names separated by dots, unusual ones in backticks.
    public var description: String {
        LarderModel.FieldPath(unchecked: names).canonicalString
    }
}

extension FieldPath {
    func resolved() throws(LarderError) -> LarderModel.FieldPath {
        try LarderModel.FieldPath(names)
    }

    /// The path given by a dotted string or a `FieldPath`.
    static func resolving(_ field: Any) throws(LarderError) -> LarderModel.FieldPath {
        if let text = field as? String { return try LarderModel.FieldPath(dotted: text) }
        if let path = field as? FieldPath { return try path.resolved() }
        throw .invalidArgument(
            "a field is given by a String or a FieldPath, not by \(type(of: field))")
    }
}

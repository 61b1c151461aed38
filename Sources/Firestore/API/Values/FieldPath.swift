internal import LarderModel

/// Where a field is in a document: the names of the maps on the way, and its own.
///
/// A string between dots, such as `"stats.area"`, does for plain names; a `FieldPath` takes names
/// with any characters. Names are checked when the path is used: an empty path, an empty name or
/// more than 1,500 bytes then give an error with the code `invalidArgument`.
public struct FieldPath: Sendable {
    let names: [String]

    /// A path of names, which may hold dots and other characters.
    public init(_ fieldNames: [String]) {
        names = fieldNames
    }

    /// The id of the document, as a field to filter and to order by.
    public static func documentID() -> FieldPath {
        FieldPath(["__name__"])
    }
}

extension FieldPath: Hashable {
    /// Whether the names are the same bytes.
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
    /// The names between dots, unusual ones in backticks.
    public var description: String {
        LarderModel.FieldPath(unchecked: names).canonicalString
    }
}

extension FieldPath {
    /// The path, checked.
    func resolved() throws(LarderError) -> LarderModel.FieldPath {
        try LarderModel.FieldPath(names)
    }

    /// The path that a caller means by a string with dots or a `FieldPath`.
    static func resolving(_ field: Any) throws(LarderError) -> LarderModel.FieldPath {
        if let text = field as? String { return try LarderModel.FieldPath(dotted: text) }
        if let path = field as? FieldPath { return try path.resolved() }
        throw .invalidArgument(
            "a field is named by a String or a FieldPath, not by \(type(of: field))")
    }
}

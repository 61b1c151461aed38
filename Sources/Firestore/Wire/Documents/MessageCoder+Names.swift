package import LarderModel

extension DatabaseID {
    private static let maxBytes = 256

    /// The database in a resource name: `projects/P/databases/D`, optionally followed by
    /// `/documents` and a path.
    ///
    /// - Throws: `invalidArgument` for any other text, and for a project or database of more than
    ///   256 bytes or with control characters.
    package init(ofResource name: String) throws(LarderError) {
        var rest: Substring.UTF8View? = name.utf8[...]
        /// Removes and returns the next segment; nil after the last.
        func next() -> Substring.UTF8View? {
            guard let text = rest else { return nil }
            guard let slash = text.firstIndex(of: UInt8(ascii: "/")) else {
                rest = nil
                return text
            }
            rest = text[text.index(after: slash)...]
            return text[..<slash]
        }
        guard
            next()?.byteOrder(to: "projects".utf8) == 0, let project = next(),
            next()?.byteOrder(to: "databases".utf8) == 0, let database = next(),
            (next()?.byteOrder(to: "documents".utf8) ?? 0) == 0,
            Self.isSound(project), Self.isSound(database)
        else {
            throw .invalidName("'\(name.prefix(200))' does not begin with projects/P/databases/D")
        }
        self.init(project: String(Substring(project)), database: String(Substring(database)))
    }

    private static func isSound(_ id: Substring.UTF8View) -> Bool {
        !id.isEmpty && id.count <= maxBytes && id.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }
}

extension MessageCoder {
    package func encode(_ path: DocumentPath) -> String { documentsPrefix + path.string }

    /// Decodes a document name.
    ///
    /// - Throws: `invalidArgument` for another database or a name that is not of a document.
    package func decode(documentName name: String) throws(LarderError) -> DocumentPath {
        let path = try DocumentPath(try below(name))
        // Paths tolerate slashes at both ends, names do not.
        guard path.string.utf8.count + documentsPrefix.utf8.count == name.utf8.count else {
            throw .invalidName("the name '\(name)' has an empty segment")
        }
        return path
    }

    /// Encodes a collection's parent: a document name, or for nil the root of the database's
    /// documents.
    package func encode(parent: DocumentPath?) -> String {
        parent.map(encode) ?? String(documentsPrefix.dropLast())
    }

    /// Decodes a parent; nil for the root.
    ///
    /// - Throws: `invalidArgument` for another database or any other name.
    package func decode(parent name: String) throws(LarderError) -> DocumentPath? {
        if name.utf8.elementsEqual(documentsPrefix.utf8.dropLast()) { return nil }
        return try decode(documentName: name)
    }

    /// Checks that a request names this database or none.
    ///
    /// - Throws: `invalidArgument` for another database.
    package func check(database name: String) throws(LarderError) {
        guard name.isEmpty || names.isDatabase(name) else {
            throw .invalidArgument("the database is '\(name.prefix(200))' instead of '\(database)'")
        }
    }

    /// Removes the common prefix of the database's document names.
    private func below(_ name: String) throws(LarderError) -> String {
        guard name.hasUTF8Prefix(documentsPrefix) else {
            throw .invalidName(
                "'\(name.prefix(200))' is not the name of a document in '\(database)/documents'")
        }
        return String(Substring(name.utf8.dropFirst(documentsPrefix.utf8.count)))
    }
}

extension ResourceName {
    /// Whether it names a document of any database, without empty segments.
    var isDocumentName: Bool {
        guard let parts else { return false }
        return "\(parts.database)/documents/".utf8.count + parts.document.string.utf8.count
            == string.utf8.count
    }
}

// MARK: - Masks

extension MessageCoder {
    package func encode(_ mask: FieldMask) -> Google_Firestore_V1_DocumentMask {
        var message = Google_Firestore_V1_DocumentMask()
        message.fieldPaths = mask.paths.map(\.canonicalString)
        return message
    }

    /// Decodes a mask.
    ///
    /// - Throws: `invalidArgument` for an invalid field path.
    package func decode(_ mask: Google_Firestore_V1_DocumentMask) throws(LarderError) -> FieldMask {
        FieldMask(try mask.fieldPaths.map(decode(fieldPath:)))
    }

    /// Decodes a field path.
    ///
    /// - Throws: `invalidArgument` unless it consists of names separated by dots; each name is
    ///   quoted in backticks or consists of letters, digits and underscores and does not start with
    ///   a digit.
    package func decode(fieldPath text: String) throws(LarderError) -> FieldPath {
        guard Self.isFieldPath(text.utf8) else {
            throw .invalidName("'\(text.prefix(200))' is not a valid field path")
        }
        return try FieldPath(canonical: text)
    }

    private static func isFieldPath(_ text: String.UTF8View) -> Bool {
        var rest = text[...]
        while true {
            let isName =
                rest.first == UInt8(ascii: "`") ? takeQuoted(&rest) : takeBare(&rest)
            guard isName else { return false }
            guard let next = rest.popFirst() else { return true }
            guard next == UInt8(ascii: ".") else { return false }
        }
    }

    /// Removes a name quoted in backticks, in which `\` escapes the next character.
    private static func takeQuoted(_ rest: inout Substring.UTF8View) -> Bool {
        rest.removeFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "`") { return true }
            if byte == UInt8(ascii: "\\"), rest.popFirst() == nil { return false }
        }
        return false
    }

    private static func takeBare(_ rest: inout Substring.UTF8View) -> Bool {
        let name = rest.prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard let first = name.first, first > UInt8(ascii: "9") else { return false }
        rest = rest.dropFirst(name.count)
        return true
    }

    package func encode(_ precondition: Precondition) -> Google_Firestore_V1_Precondition? {
        var message = Google_Firestore_V1_Precondition()
        switch precondition {
        case .none: return nil
        case .exists(let exists): message.exists = exists
        case .updateTime(let version): message.updateTime = .init(version)
        }
        return message
    }

    /// Decodes a precondition; none for a message without a condition.
    ///
    /// - Throws: `invalidArgument` for a time out of range.
    package func decode(_ precondition: Google_Firestore_V1_Precondition)
        throws(LarderError) -> Precondition
    {
        switch precondition.conditionType {
        case nil: .none
        case .exists(let exists): .exists(exists)
        case .updateTime(let time): .updateTime(try SnapshotVersion(time))
        }
    }
}

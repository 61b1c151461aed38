package import LarderModel

extension DatabaseID {
    private static let maxBytes = 256

    /// The database of a resource: `projects/P/databases/D`, alone or with `/documents` and more
    /// behind it.
    ///
    /// - Throws: `invalidArgument` for any other text, and for a project or database of more than
    ///   256 bytes or with control characters.
    package init(ofResource name: String) throws(LarderError) {
        var rest: Substring.UTF8View? = name.utf8[...]
        /// What is before the next slash, or the rest; nil behind the last.
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
    /// The name of a document of the database.
    package func encode(_ path: DocumentPath) -> String { documentsPrefix + path.string }

    /// The path in the name of a document of the database.
    ///
    /// - Throws: `invalidArgument` for another database and for what is no document's name.
    package func decode(documentName name: String) throws(LarderError) -> DocumentPath {
        let path = try DocumentPath(try below(name))
        // A path forgives slashes at its ends, a name does not.
        guard path.string.utf8.count + documentsPrefix.utf8.count == name.utf8.count else {
            throw .invalidName("the name '\(name)' has an empty segment")
        }
        return path
    }

    /// The parent of a collection as requests name it: a document's name, or for nil the root of
    /// the database's documents.
    package func encode(parent: DocumentPath?) -> String {
        parent.map(encode) ?? String(documentsPrefix.dropLast())
    }

    /// The document that a request names as a parent; nil for the root.
    ///
    /// - Throws: `invalidArgument` for another database and for what is neither.
    package func decode(parent name: String) throws(LarderError) -> DocumentPath? {
        if name.utf8.elementsEqual(documentsPrefix.utf8.dropLast()) { return nil }
        return try decode(documentName: name)
    }

    /// Checks that a request is about this database, or does not say.
    ///
    /// - Throws: `invalidArgument` for another one.
    package func check(database name: String) throws(LarderError) {
        guard name.isEmpty || names.isDatabase(name) else {
            throw .invalidArgument("the database is '\(name.prefix(200))', not '\(database)'")
        }
    }

    /// What is behind the beginning that all names of the database have.
    private func below(_ name: String) throws(LarderError) -> String {
        guard name.hasUTF8Prefix(documentsPrefix) else {
            throw .invalidName(
                "'\(name.prefix(200))' is no name of a document in '\(database)/documents'")
        }
        return String(Substring(name.utf8.dropFirst(documentsPrefix.utf8.count)))
    }
}

extension ResourceName {
    /// Whether it is the name of a document of any database, without empty segments.
    var isDocumentName: Bool {
        guard let parts else { return false }
        return "\(parts.database)/documents/".utf8.count + parts.document.string.utf8.count
            == string.utf8.count
    }
}

// MARK: - Masks

extension MessageCoder {
    /// The message of a mask.
    package func encode(_ mask: FieldMask) -> Google_Firestore_V1_DocumentMask {
        var message = Google_Firestore_V1_DocumentMask()
        message.fieldPaths = mask.paths.map(\.canonicalString)
        return message
    }

    /// The mask of a message.
    ///
    /// - Throws: `invalidArgument` for text that is no path of a field.
    package func decode(_ mask: Google_Firestore_V1_DocumentMask) throws(LarderError) -> FieldMask {
        var paths: [FieldPath] = []
        paths.reserveCapacity(mask.fieldPaths.count)
        for text in mask.fieldPaths { paths.append(try decode(fieldPath: text)) }
        return FieldMask(paths)
    }

    /// The path in the text that messages have of one.
    ///
    /// - Throws: `invalidArgument` for anything but names with dots between them, each of letters,
    ///   digits and underscores and not a digit first, or between backticks.
    package func decode(fieldPath text: String) throws(LarderError) -> FieldPath {
        guard Self.isFieldPath(text.utf8) else {
            throw .invalidName("'\(text.prefix(200))' is no path of a field")
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

    /// Takes a name between backticks away, in which `\` takes the next character as it is.
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

    /// The message of a precondition; nil for none.
    package func encode(_ precondition: Precondition) -> Google_Firestore_V1_Precondition? {
        var message = Google_Firestore_V1_Precondition()
        switch precondition {
        case .none: return nil
        case .exists(let exists): message.exists = exists
        case .updateTime(let version): message.updateTime = .init(version)
        }
        return message
    }

    /// The precondition of a message; none for a message without a condition.
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

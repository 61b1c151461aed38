package import LarderModel

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

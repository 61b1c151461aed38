package import LarderCore
package import LarderModel

/// Parses JSON text directly to values of documents.
///
/// Numbers without fraction and exponent that fit in 64 bits become integers, all others doubles.
/// ``TypedJSON`` describes the objects for other types.
package struct TypedJSONReader {
    /// The options for types that JSON lacks.
    package struct Options: Sendable {
        /// Whether RFC 3339 strings become timestamps.
        package var readsTimestamps = false
        /// Whether objects such as `{"$bytes": ...}` and geo points are converted.
        package var readsTypedForms = true
        /// A member of the document that is always a map.
        package var plainMember: String?

        package init() {}
    }

    private let options: Options

    /// Parses an object; returns its entries in order, possibly with duplicate names, which
    /// ``map(of:at:)`` rejects.
    package static func readObject(
        _ text: UnsafeBufferPointer<UInt8>, options: Options
    ) throws(JSONError) -> [MapValue.Element] {
        var json = JSONReader(UnsafeRawBufferPointer(text))
        guard json.peek() == UInt8(ascii: "{") else {
            throw json.failure("a document must be a JSON object")
        }
        let entries = try TypedJSONReader(options: options).readEntries(&json, isPlain: true)
        try json.finish()
        return entries
    }

    /// Parses a quoted string.
    package static func readString(_ text: UnsafeBufferPointer<UInt8>) throws(JSONError) -> String {
        var json = JSONReader(UnsafeRawBufferPointer(text))
        _ = json.peek()
        let string = try json.readString()
        try json.finish()
        return string
    }

    package static func readValue(_ text: String) throws(JSONError) -> Value {
        try Array(text.utf8).withUnsafeBufferPointer { (bytes) throws(JSONError) in
            var json = JSONReader(UnsafeRawBufferPointer(bytes))
            let value = try TypedJSONReader(options: Options()).readValue(&json)
            try json.finish()
            return value
        }
    }

    /// The map of an object's entries; throws for duplicate names.
    package static func map(
        of entries: [MapValue.Element], at offset: Int
    ) throws(JSONError) -> MapValue {
        let map = MapValue(entries)
        if map.count != entries.count {
            var seen: Set<[UInt8]> = []
            let name = entries.first { !seen.insert(Array($0.name.utf8)).inserted }?.name ?? ""
            throw JSONError(offset: offset, reason: "duplicate name '\(name)'")
        }
        return map
    }

    private func readValue(_ json: inout JSONReader) throws(JSONError) -> Value {
        switch json.peek() {
        case UInt8(ascii: "\""):
            let string = try json.readString()
            if options.readsTimestamps, let time = Timestamp(rfc3339: string) {
                return .timestamp(time)
            }
            return .string(string)
        case UInt8(ascii: "{"):
            let start = json.offset
            return try value(of: try readEntries(&json, isPlain: false), at: start)
        case UInt8(ascii: "["):
            var elements: [Value] = []
            try json.readArray { (json) throws(JSONError) in
                elements.append(try readValue(&json))
            }
            return .array(elements)
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            return .boolean(try json.readBoolean())
        case UInt8(ascii: "n"):
            try json.readNull()
            return .null
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            switch try json.readNumber() {
            case .integer(let integer): return .integer(integer)
            case .negativeZero: return .integer(0)
            case .double(let double): return .double(double)
            }
        default:
            throw json.expectedValue()
        }
    }

    private func value(of entries: [MapValue.Element], at start: Int) throws(JSONError) -> Value {
        if options.readsTypedForms {
            do throws(TypedJSON.Failure) {
                if let typed = try TypedJSON.value(of: entries) { return typed }
            } catch {
                throw JSONError(offset: start, reason: error.reason)
            }
        }
        return .map(try Self.map(of: entries, at: start))
    }

    /// Parses an object; `isPlain` if it is always a map.
    private func readEntries(
        _ json: inout JSONReader, isPlain: Bool
    ) throws(JSONError) -> [MapValue.Element] {
        var entries: [MapValue.Element] = []
        try json.readObject { (json, name) throws(JSONError) in
            let start = json.offset
            guard json.peek() == UInt8(ascii: "{") else {
                return entries.append((name, try readValue(&json)))
            }
            if json.depth == 1 && name == options.plainMember {
                let content = try readEntries(&json, isPlain: true)
                entries.append((name, .map(try Self.map(of: content, at: start))))
            } else if options.readsTypedForms && !isPlain && entries.isEmpty
                && name == TypedJSON.map
            {
                let content = try readEntries(&json, isPlain: true)
                // As the only member, "$map" marks its content as a map in any form.
                let isForm = json.peek() == UInt8(ascii: "}")
                let map =
                    isForm
                    ? .map(try Self.map(of: content, at: start))
                    : try value(of: content, at: start)
                entries.append((name, map))
            } else {
                entries.append((name, try readValue(&json)))
            }
        }
        return entries
    }
}

/// Converts JSON objects to documents.
package struct DocumentReader: Sendable {
    /// The target collection; nil if each document contains its path.
    let collection: CollectionPath?
    let idField: String?
    let keepsIDField: Bool
    private let json: TypedJSONReader.Options

    /// Creates a reader.
    ///
    /// Without `idField`, `$name` contains the ID, or without `collection` the whole path.
    package init(
        collection: CollectionPath?, idField: String?, keepsIDField: Bool,
        json: TypedJSONReader.Options
    ) {
        self.collection = collection
        self.idField = idField
        self.keepsIDField = keepsIDField
        var json = json
        if idField == nil { json.plainMember = DocumentLine.fieldsKey }
        self.json = json
    }

    /// Reads a document; `key` is its ID as JSON text if the layout has one.
    package func read(
        _ text: UnsafeBufferPointer<UInt8>, key: UnsafeBufferPointer<UInt8>?
    ) throws(JSONError) -> (path: DocumentPath, fields: MapValue) {
        var entries = try TypedJSONReader.readObject(text, options: json)
        var name: String?
        if idField == nil,
            let position = entries.firstIndex(where: { $0.name == DocumentLine.nameKey })
        {
            guard case .string(let string) = entries.remove(at: position).value else {
                throw JSONError(offset: 0, reason: "\(DocumentLine.nameKey) is not a string")
            }
            name = string
            if entries.count == 1, entries[0].name == DocumentLine.fieldsKey,
                case .map(let fields) = entries[0].value
            {
                entries = Array(fields)
            }
        }
        let collection = self.collection
        let path: DocumentPath
        if let collection {
            let id = try id(of: &entries, name: name, key: key)
            path = try Self.named { () throws(LarderError) in try collection.document(id) }
        } else {
            guard let name else {
                throw JSONError(
                    offset: 0,
                    reason: "no \(DocumentLine.nameKey) with the document's path, which only "
                        + "'larder import --collection' replaces")
            }
            path = try Self.named { () throws(LarderError) in try DocumentPath(name) }
        }
        return (path, try TypedJSONReader.map(of: entries, at: 0))
    }

    /// The document ID.
    private func id(
        of entries: inout [MapValue.Element], name: String?, key: UnsafeBufferPointer<UInt8>?
    ) throws(JSONError) -> String {
        if let idField { return try takeID(idField, of: &entries) }
        if let key { return try TypedJSONReader.readString(key) }
        guard let name else { return CollectionPath.newDocumentID() }
        return try Self.named { () throws(LarderError) in try DocumentPath(name).id }
    }

    /// Runs the validation of a path, converting its error.
    private static func named<R>(
        _ body: () throws(LarderError) -> R
    ) throws(JSONError) -> R {
        do throws(LarderError) {
            return try body()
        } catch {
            throw JSONError(offset: 0, reason: error.message)
        }
    }

    private func takeID(
        _ field: String, of entries: inout [MapValue.Element]
    ) throws(JSONError) -> String {
        guard let position = entries.firstIndex(where: { $0.name == field }) else {
            throw JSONError(offset: 0, reason: "no field '\(field)' for the ID")
        }
        let id: String
        switch entries[position].value {
        case .string(let string): id = string
        case .integer(let integer): id = String(integer)
        default:
            throw JSONError(
                offset: 0, reason: "the field '\(field)' is not a string or an integer")
        }
        if !keepsIDField { entries.remove(at: position) }
        return id
    }
}

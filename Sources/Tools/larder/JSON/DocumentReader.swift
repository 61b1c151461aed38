import LarderCore
import LarderModel

/// Makes a document of a piece of JSON: its path and its fields.
struct DocumentReader {
    /// Where documents go; nil where each says so itself.
    let collection: CollectionPath?
    /// The field that is the id.
    let idField: String?
    /// Whether the id stays a field.
    let keepsIDField: Bool
    /// How values are read.
    private let json: TypedJSONReader.Options

    /// A reader; without `idField` a `$name` says the id and, without `collection`, all of the
    /// path.
    init(
        collection: CollectionPath?, idField: String?, keepsIDField: Bool,
        json: TypedJSONReader.Options
    ) {
        self.collection = collection
        self.idField = idField
        self.keepsIDField = keepsIDField
        var json = json
        if idField == nil { json.plainMember = Exporter.fieldsKey }
        self.json = json
    }

    /// The document of a text; `key` is its id as JSON text where the layout has one.
    func read(
        _ text: UnsafeBufferPointer<UInt8>, key: UnsafeBufferPointer<UInt8>?
    ) throws(JSONError) -> (path: DocumentPath, fields: MapValue) {
        var entries = try TypedJSONReader.readObject(text, options: json)
        var name: String?
        if idField == nil, let position = entries.firstIndex(where: { $0.name == Exporter.nameKey })
        {
            guard case .string(let string) = entries.remove(at: position).value else {
                throw JSONError(offset: 0, reason: "\(Exporter.nameKey) is not a string")
            }
            name = string
            if entries.count == 1, entries[0].name == Exporter.fieldsKey,
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
                    reason: "no \(Exporter.nameKey); --collection says where documents go")
            }
            path = try Self.named { () throws(LarderError) in try DocumentPath(name) }
        }
        return (path, try TypedJSONReader.map(of: entries, at: 0))
    }

    /// The id of a document in the collection.
    private func id(
        of entries: inout [MapValue.Element], name: String?, key: UnsafeBufferPointer<UInt8>?
    ) throws(JSONError) -> String {
        if let idField { return try takeID(idField, of: &entries) }
        if let key { return try TypedJSONReader.readString(key) }
        guard let name else { return CollectionPath.newDocumentID() }
        return try Self.named { () throws(LarderError) in try DocumentPath(name).id }
    }

    /// Runs what checks a path, and says in its error what is wrong with it.
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
            throw JSONError(offset: 0, reason: "no field '\(field)' for the id")
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

import LarderCore
import LarderModel
import LarderStorage

/// Writes documents of one snapshot as lines of JSON.
struct Exporter {
    /// The name of the member that holds a document's path.
    static let nameKey = "$name"
    /// The name of the member that holds the fields where they have a `$name` of their own.
    static let fieldsKey = "$fields"

    /// Documents written so far.
    private(set) var documentCount: Int64 = 0
    /// Collections with at least one document written.
    private(set) var collectionCount: Int64 = 0

    private let output: Output
    private let idField: String?
    private var bar = ProgressBar("export", unit: .count("documents"))

    /// Writes to an output; `idField` names the member for a document's id, nil for paths.
    init(output: Output, idField: String?) {
        self.output = output
        self.idField = idField
    }

    /// Writes one collection, also those below its documents, or everything.
    mutating func export(
        _ collection: CollectionPath?, isRecursive: Bool, from store: Store
    ) throws {
        defer { bar.finish() }
        try store.read { txn in
            let total = try txn.statistics().documentCount
            var paths: [CollectionPath] = []
            try txn.collections { info in
                if Self.wants(info.path, collection, isRecursive: isRecursive) {
                    paths.append(info.path)
                }
                return .continue
            }
            if let collection, paths.isEmpty {
                throw ToolError(
                    .noInput, "there is no collection '\(collection)'",
                    hint: "'larder ls' lists the collections")
            }
            for path in paths { try write(path, of: txn, total: total) }
        }
    }

    private static func wants(
        _ path: CollectionPath, _ collection: CollectionPath?, isRecursive: Bool
    ) -> Bool {
        guard let collection else { return true }
        return path == collection || isRecursive && path.parent?.isBelow(collection) ?? false
    }

    private mutating func write(
        _ collection: CollectionPath, of txn: borrowing ReadTransaction, total: Int64
    ) throws {
        let before = documentCount
        try txn.documents(in: .collection(collection)) { entry in
            try write(entry.path, try entry.record.fields())
            bar.update(documentCount, of: total)
            if Interruption.isRequested { throw ToolError.interrupted }
            return .continue
        }
        if documentCount > before { collectionCount += 1 }
    }

    private mutating func write(_ path: DocumentPath, _ fields: MapValue) throws {
        if let idField, fields[idField] != nil, fields[idField] != .string(path.id) {
            throw ToolError(
                .badData, "the document \(path) has a field '\(idField)' that is not its id",
                hint: "choose another name with --id, or leave it out")
        }
        output.append { bytes in
            Self.appendLine(path, fields, idField: idField, to: &bytes)
        }
        documentCount += 1
    }

    /// Appends one document as a line.
    static func appendLine(
        _ path: DocumentPath, _ fields: MapValue, idField: String?, to bytes: inout [UInt8]
    ) {
        JSONWriter.append(raw: "{", to: &bytes)
        JSONWriter.append(idField ?? nameKey, to: &bytes)
        JSONWriter.append(raw: ":", to: &bytes)
        JSONWriter.append(idField == nil ? path.string : path.id, to: &bytes)
        var fields = fields
        if let idField {
            // Equal to the id, see above; it is there once.
            fields[idField] = nil
        } else if fields[nameKey] != nil || fields[fieldsKey] != nil {
            JSONWriter.append(raw: ",\"\(fieldsKey)\":", to: &bytes)
            JSONWriter.append(fields, to: &bytes)
            JSONWriter.append(raw: "}\n", to: &bytes)
            return
        }
        var isFirst = false
        JSONWriter.appendEntries(fields, isFirst: &isFirst, to: &bytes)
        JSONWriter.append(raw: "}\n", to: &bytes)
    }
}

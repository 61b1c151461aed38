import LarderCore
package import LarderModel

/// A document as a line of JSON: `{"$name":"cities/SF","population":884363}`.
///
/// Fields that include one of the line's own names are in a member of their own,
/// `{"$name":"cities/SF","$fields":{"$name":1}}`. ``DocumentReader`` reads the lines.
package enum DocumentLine {
    /// The name of the member that holds a document's path.
    static let nameKey = "$name"
    /// The name of the member that holds the fields if they include a `$name`.
    static let fieldsKey = "$fields"

    /// Appends a line with its end.
    ///
    /// - Parameter idField: the name of the member that holds the ID instead of the path; a field of
    ///   that name is equal to the ID. Nil for the path.
    package static func append(
        _ path: DocumentPath, _ fields: MapValue, idField: String? = nil, to bytes: inout [UInt8]
    ) {
        JSONWriter.append(raw: "{", to: &bytes)
        JSONWriter.append(idField ?? nameKey, to: &bytes)
        JSONWriter.append(raw: ":", to: &bytes)
        JSONWriter.append(idField == nil ? path.string : path.id, to: &bytes)
        var fields = fields
        if let idField {
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

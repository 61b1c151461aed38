import Larder
import LarderCore
import LarderDocumentJSON
import LarderModel

/// Prints documents as a table or as lines of JSON.
struct DocumentPrinter {
    /// The selected fields; empty for all.
    let selection: [LarderModel.FieldPath]
    /// Whether to print paths instead of IDs.
    let showsPaths: Bool

    /// Parses the options `--select`, each a list of fields separated by commas.
    init(selecting texts: [String], showsPaths: Bool) throws {
        var selection: [LarderModel.FieldPath] = []
        for text in texts {
            selection += try expression("--select", text) { () throws(ExpressionFailure) in
                // Without values, the database of references is irrelevant.
                var scanner = ExpressionScanner(
                    text, database: DatabaseID(project: "-", database: "-"))
                var fields = [try scanner.takeField()]
                while scanner.take(",") { fields.append(try scanner.takeField()) }
                try scanner.expectEnd()
                return fields
            }
        }
        self.selection = selection
        self.showsPaths = showsPaths
    }

    /// Appends a document as a line of JSON in the export format.
    func append(_ document: Document, to bytes: inout [UInt8]) {
        DocumentLine.append(document.path, fields(of: document), to: &bytes)
    }

    /// A document's fields as one line of JSON without its name.
    func text(of document: Document) -> String {
        var bytes: [UInt8] = []
        JSONWriter.append(fields(of: document), to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func lines(_ documents: [Document], columns: Int) -> [String] {
        let title = showsPaths ? "document" : "id"
        guard !selection.isEmpty else {
            var table = TextTable([(title, .left), ("fields", .left)])
            for document in documents { table.add(name(of: document), text(of: document)) }
            return table.lines.map { DisplayWidth.cut($0, to: columns) }
        }
        let rows = documents.map { document in selection.map { document[$0] } }
        var table = TextTable(
            [(title, .left)]
                + selection.indices.map { column in
                    let isNumber = rows.allSatisfy { Self.isNumberOrMissing($0[column]) }
                    return (selection[column].canonicalString, isNumber ? .right : .left)
                })
        for (document, row) in zip(documents, rows) {
            table.add([name(of: document)] + row.map { $0.map(Self.cell) ?? "" })
        }
        return table.lines
    }

    private func name(of document: Document) -> String {
        showsPaths ? document.path.string : document.id
    }

    func fields(of document: Document) -> MapValue {
        guard !selection.isEmpty else { return document.fields }
        var fields = MapValue()
        for path in selection {
            if let value = document[path] { fields.insert(value, at: path.segments[...]) }
        }
        return fields
    }

    private static func isNumberOrMissing(_ value: Value?) -> Bool {
        switch value {
        case nil, .integer, .double: true
        default: false
        }
    }

    /// The text of a cell: strings without quotes if they are printable.
    private static func cell(_ value: Value) -> String {
        if case .string(let string) = value,
            string.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        {
            return string
        }
        return FieldText.text(of: value)
    }
}

extension MapValue {
    /// Inserts a value at a path, creating missing maps.
    fileprivate mutating func insert(_ value: Value, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            self[name] = value
            return
        }
        var inner = MapValue()
        if case .map(let there) = self[name] { inner = there }
        inner.insert(value, at: path.dropFirst())
        self[name] = .map(inner)
    }
}

/// The fields of a document as text: one line each, maps indented.
enum FieldText {
    static func lines(of map: MapValue) -> [String] {
        let width = map.map { DisplayWidth.of($0.name) }.max() ?? 0
        return map.flatMap { name, value in
            if case .map(let inner) = value, !inner.isEmpty {
                return [name] + lines(of: inner).map { "  " + $0 }
            }
            let padding = String(repeating: " ", count: width - DisplayWidth.of(name))
            return ["\(name)\(padding)  \(text(of: value))"]
        }
    }

    /// A value on one line, with its type if JSON lacks it.
    static func text(of value: Value) -> String {
        switch value {
        case .timestamp(let time): return "timestamp \(time)"
        case .serverTimestamp(let pending): return "pending since \(pending.localWriteTime)"
        case .geoPoint(let point): return "geo point \(point.latitude), \(point.longitude)"
        case .bytes(let bytes):
            return "\(NumberText.things(Int64(bytes.count), "byte")) \(hexadecimal(bytes))"
        case .reference(let name): return "reference \(name.string)"
        case .vector(let vector):
            return "vector of \(vector.components.count) \(vector.components)"
        case .double(let double) where !double.isFinite: return double.description
        case .array(let elements):
            return "[" + elements.map(text(of:)).joined(separator: ", ") + "]"
        case .map(let map):
            var name: [UInt8] = []
            let entries = map.map { entry in
                name.removeAll()
                JSONWriter.append(entry.name, to: &name)
                return "\(String(decoding: name, as: UTF8.self)): \(text(of: entry.value))"
            }
            return "{" + entries.joined(separator: ", ") + "}"
        default:
            var bytes: [UInt8] = []
            JSONWriter.append(value, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(32).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return shown.joined() + (bytes.count > 32 ? "…" : "")
    }
}

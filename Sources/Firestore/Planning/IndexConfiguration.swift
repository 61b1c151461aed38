import Foundation
package import LarderDocumentStore
package import LarderModel

/// A set of indexes that replaces those of a store.
package struct IndexConfiguration: Sendable, Hashable {
    package let indexes: [IndexDefinition]

    /// Creates a configuration; duplicates are ignored.
    package init(_ indexes: [IndexDefinition]) {
        var known: Set<IndexDefinition> = []
        self.indexes = indexes.filter { known.insert($0).inserted }
    }

    /// Parses a configuration in the format that the Firebase command-line tools export.
    ///
    /// Reads `indexes`, of each `collectionGroup` and `fields`, and of each field `fieldPath` (in
    /// Firestore's canonical form) with `order`, `ASCENDING` or `DESCENDING`, or `arrayConfig`,
    /// `CONTAINS`. Everything else, such as `queryScope` and `fieldOverrides`, is ignored, and so
    /// are indexes with a `vectorConfig`, which no query here uses. The document name, which
    /// implicitly ends every index, may be the last field.
    ///
    /// - Throws: `invalidArgument` with the problem and its location.
    package init(json: String) throws(LarderError) {
        guard let root = try Self.parse(json) as? [String: Any] else {
            throw .invalidArgument("an index configuration is a JSON object")
        }
        guard let listed = root["indexes"] else {
            self.init([])
            return
        }
        guard let entries = listed as? [Any] else {
            throw .invalidArgument("'indexes' of an index configuration is not an array")
        }
        var indexes: [IndexDefinition] = []
        for (number, entry) in entries.enumerated() {
            if let index = try Self.index(entry, at: "indexes[\(number)]") { indexes.append(index) }
        }
        self.init(indexes)
    }

    private static func parse(_ json: String) throws(LarderError) -> Any {
        do {
            return try JSONSerialization.jsonObject(with: Data(json.utf8))
        } catch {
            throw LarderError(
                .invalidArgument, "an index configuration is not valid JSON", cause: error)
        }
    }

    private static func index(_ json: Any, at place: String) throws(LarderError)
        -> IndexDefinition?
    {
        guard let object = json as? [String: Any] else {
            throw .invalidArgument("\(place) is not an object")
        }
        guard let group = object["collectionGroup"] as? String, !group.isEmpty else {
            throw .invalidArgument("\(place) has no string 'collectionGroup'")
        }
        guard let fields = object["fields"] as? [Any], !fields.isEmpty else {
            throw .invalidArgument("\(place) has no 'fields'")
        }
        var segments: [IndexDefinition.Segment] = []
        for (number, field) in fields.enumerated() {
            let place = "\(place).fields[\(number)]"
            guard let object = field as? [String: Any] else {
                throw .invalidArgument("\(place) is not an object")
            }
            if object["vectorConfig"] != nil { return nil }
            let segment = try segment(object, at: place)
            guard !segment.path.isDocumentID else {
                guard number == fields.count - 1 else {
                    throw .invalidArgument(
                        "\(place) is the document's name, which can only be last")
                }
                break
            }
            segments.append(segment)
        }
        guard segments.count(where: { $0.kind == .contains }) <= 1 else {
            throw .invalidArgument("\(place) has more than one 'arrayConfig'")
        }
        return segments.isEmpty
            ? nil : IndexDefinition(collectionGroup: group, segments: segments)
    }

    private static func segment(_ object: [String: Any], at place: String) throws(LarderError)
        -> IndexDefinition.Segment
    {
        guard let text = object["fieldPath"] as? String else {
            throw .invalidArgument("\(place) has no string 'fieldPath'")
        }
        let path: FieldPath
        do throws(LarderError) {
            path = try FieldPath(canonical: text)
        } catch {
            throw LarderError(.invalidArgument, "\(place): \(error.message)", cause: error)
        }
        switch (object["order"], object["arrayConfig"]) {
        case (let order?, nil):
            switch order as? String {
            case "ASCENDING": return IndexDefinition.Segment(path, .ascending)
            case "DESCENDING": return IndexDefinition.Segment(path, .descending)
            default:
                throw .invalidArgument("\(place): 'order' is neither ASCENDING nor DESCENDING")
            }
        case (nil, let config?):
            guard config as? String == "CONTAINS" else {
                throw .invalidArgument("\(place): 'arrayConfig' is not CONTAINS")
            }
            return IndexDefinition.Segment(path, .contains)
        default:
            throw .invalidArgument("\(place) must have either 'order' or 'arrayConfig'")
        }
    }
}

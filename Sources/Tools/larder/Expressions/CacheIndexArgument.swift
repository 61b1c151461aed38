import Larder
import LarderModel

/// An index as `larder index` takes it: `cities: state asc, population desc, tags contains`.
struct CacheIndexArgument {
    /// The index.
    let index: CacheIndex

    private static let orders: [(word: String, order: CacheIndex.Field.Order)] = [
        ("asc", .ascending), ("desc", .descending), ("contains", .contains),
    ]

    /// Reads a collection's id, and behind a colon fields between commas.
    init(_ text: String) throws(ExpressionFailure) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw ExpressionFailure(
                offset: text.utf8.count,
                reason: "expected a collection's id, ':' and fields, as in 'cities: state asc'")
        }
        let group = String(text[..<colon]).trimmingSpaces
        guard !group.isEmpty, !group.utf8.contains(UInt8(ascii: "/")) else {
            throw ExpressionFailure(
                offset: 0, reason: "an index is over the collections with one id, such as 'cities'")
        }
        // Values do not occur, and with them no references.
        var scanner = ExpressionScanner(
            text, database: DatabaseID(project: "-", database: "-"),
            from: text.utf8.distance(from: text.startIndex, to: colon) + 1)
        var fields: [CacheIndex.Field] = []
        repeat {
            let path = try scanner.takeField()
            let order = Self.orders.first { scanner.takeWord($0.word) }?.order
            fields.append(CacheIndex.Field(Larder.FieldPath(path.segments), order ?? .ascending))
        } while scanner.take(",")
        guard scanner.isAtEnd else {
            throw scanner.failure(
                "expected 'asc', 'desc', 'contains', ',' or the end, found \(scanner.found)")
        }
        guard fields.count <= 16, fields.count(where: { $0.order == .contains }) <= 1 else {
            throw ExpressionFailure(
                offset: 0, reason: "an index has at most 16 fields, one of them 'contains'")
        }
        index = CacheIndex(group, fields)
    }

    /// An index in the same notation.
    static func text(of index: CacheIndex) -> String {
        "\(index.collectionGroup): \(fieldsText(of: index))"
    }

    /// An index's fields in the same notation.
    static func fieldsText(of index: CacheIndex) -> String {
        index.fields.map { field in
            let word = orders.first { $0.order == field.order }?.word ?? ""
            return "\(field.path) \(word)"
        }.joined(separator: ", ")
    }
}

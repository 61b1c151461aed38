import LarderBackend
import LarderHTTP
import LarderModel
import LarderWire
import SwiftProtobuf

/// Responds to a query of all collections: documents below a parent, at any depth or directly below
/// it, in name order.
///
/// Client libraries send it to delete a tree. The bounds of the range are names that no document
/// has, such as `c/__id-9223372036854775808__`: the first possible one in `c`.
final class DescendantsResponder: PageSource {
    private let database: DatabaseContext
    private let coder: MessageCoder
    private let time: ReadTime
    private let parent: DocumentPath?
    private let isDirect: Bool
    private let mask: FieldMask?
    private let offset: Int
    private let limit: Int
    private var range = DocumentNameRange()
    private let memory: MemoryAccount?
    private lazy var documents = database.backend.cursor(
        .descendants(of: parent, directly: isDirect, in: range), as: database.credentials,
        memory: memory)
    private var found = 0

    /// Decodes a request; nil for a query of named collections.
    ///
    /// - Throws: `invalidArgument` for filters and orders other than the name, and for malformed
    ///   names and numbers; `unimplemented` in a transaction, at a read time, with explain options
    ///   or a vector search.
    init?(
        _ request: Google_Firestore_V1_RunQueryRequest, _ database: DatabaseContext,
        _ time: ReadTime, _ memory: MemoryAccount?
    ) throws(LarderError) {
        guard case .structuredQuery(let query)? = request.queryType else { return nil }
        guard query.from.count <= 1, query.from.allSatisfy(\.collectionID.isEmpty) else {
            return nil
        }
        isDirect = !query.from.contains(where: \.allDescendants)
        self.database = database
        self.memory = memory
        coder = database.coder()
        self.time = time
        guard time.transaction == nil, time.asOf.isNone, !request.hasExplainOptions,
            !query.hasFindNearest
        else {
            throw LarderError(
                .unimplemented,
                "a query of all collections in a transaction, at a read time, with explain options or "
                    + "a vector search is not implemented")
        }
        guard
            query.orderBy.allSatisfy({
                $0.field.fieldPath == "__name__" && $0.direction != .descending
            })
        else { throw Self.namesAlone }
        guard query.offset >= 0, !query.hasLimit || query.limit.value >= 0 else {
            throw LarderError(.invalidArgument, "the limit or offset of a query is negative")
        }
        parent = try coder.decode(parent: request.parent)
        offset = Int(query.offset)
        limit = query.hasLimit ? Int(query.limit.value) : .max
        let paths = try query.select.fields.map { [coder] field throws(LarderError) in
            try coder.decode(fieldPath: field.fieldPath)
        }
        mask = paths.isEmpty ? nil : FieldMask(paths)
        if query.hasWhere { try narrow(by: query.where) }
        if query.hasStartAt {
            raise(try end(query.startAt.values, isInclusive: query.startAt.before))
        }
        if query.hasEndAt { lower(try end(query.endAt.values, isInclusive: !query.endAt.before)) }
    }

    var cursor: DocumentCursor? { documents }

    /// Responds with each document; without documents with one empty response.
    func next(maxBytes: Int) throws(LarderError) -> ResponsePage {
        var page = ResponsePage()
        let (version, isLast) = try documents.next(maxBytes: maxBytes) {
            version, _, document throws(LarderError) in
            guard found - offset < limit else { return }
            found += 1
            guard found > offset else { return }
            let answer = try coder.encode(
                document, mask: mask, readTime: time.readTime(version),
                skippedResults: found == offset + 1 ? offset : 0)
            page.messages.append(try answer.encoded())
        }
        page.isLast = isLast || found - offset >= limit
        if page.isLast, found <= offset {
            let answer = try coder.encode(
                nil, readTime: time.readTime(version), skippedResults: found)
            page.messages.append(try answer.encoded())
        }
        return page
    }

    private static let namesAlone = LarderError(
        .invalidArgument,
        "a query of all collections supports only filters and ascending orders of __name__")

    private func narrow(by filter: Google_Firestore_V1_StructuredQuery.Filter)
        throws(LarderError)
    {
        switch filter.filterType {
        case .compositeFilter(let composite) where composite.op == .and:
            for part in composite.filters {
                guard case .fieldFilter? = part.filterType else { throw Self.namesAlone }
                try narrow(by: part)
            }
        case .fieldFilter(let filter) where filter.field.fieldPath == "__name__":
            let isInclusive = filter.op == .lessThanOrEqual || filter.op == .greaterThanOrEqual
            let end = try end([filter.value], isInclusive: isInclusive)
            switch filter.op {
            case .greaterThan, .greaterThanOrEqual: raise(end)
            case .lessThan, .lessThanOrEqual: lower(end)
            default: throw Self.namesAlone
            }
        default: throw Self.namesAlone
        }
    }

    private func raise(_ end: DocumentNameRange.End) {
        if let known = range.lower, !known.isBefore(end) { return }
        range.lower = end
    }

    private func lower(_ end: DocumentNameRange.End) {
        if let known = range.upper, known.isBefore(end) { return }
        range.upper = end
    }

    /// The end of a range at a name, which need not be valid for a document.
    private func end(_ values: [Google_Firestore_V1_Value], isInclusive: Bool)
        throws(LarderError) -> DocumentNameRange.End
    {
        let prefix = "\(database.id)/documents/"
        guard case .referenceValue(let name)? = values.first?.valueType, values.count == 1,
            name.utf8.starts(with: prefix.utf8), name.utf8.count > prefix.utf8.count,
            name.utf8.count <= prefix.utf8.count + 8_192
        else { throw LarderError(.invalidArgument, "the bound of a query is not a document name") }
        let path = String(Substring(name.utf8.dropFirst(prefix.utf8.count)))
        return .init(DocumentPath(unchecked: path), isInclusive: isInclusive)
    }
}

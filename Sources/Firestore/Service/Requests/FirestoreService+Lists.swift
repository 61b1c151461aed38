import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderQuery
import LarderWire
import SwiftProtobuf

/// Lists of documents, page by page.
extension FirestoreService {
    private static let maxPage = 1_000

    /// The documents of a collection; with `show_missing` including missing parents of documents.
    func listDocuments(_ request: Google_Firestore_V1_ListDocumentsRequest)
        async throws(LarderError) -> Google_Firestore_V1_ListDocumentsResponse
    {
        try await read(request.parent) { [limits] (database, coder) throws(LarderError) in
            guard !request.collectionID.isEmpty else {
                return try Self.allDocuments(
                    request, database, coder, maxBytes: limits.listPageBytes)
            }
            let list = try DocumentList(request, database, coder, maxBytes: limits.listPageBytes)
            let size = try PageToken.size(request.pageSize, most: Self.maxPage)
            return try request.showMissing
                ? list.pageWithMissing(size) : list.page(size)
        }
    }
}

// MARK: - All collections

extension FirestoreService {
    /// A page of the documents in all collections of a document or the root, in the order of names.
    ///
    /// - Throws: `invalidArgument` for missing documents and other orders, as the service has it;
    ///   `unimplemented` in a transaction.
    private static func allDocuments(
        _ request: Google_Firestore_V1_ListDocumentsRequest, _ database: DatabaseContext,
        _ coder: MessageCoder, maxBytes: Int
    ) throws(LarderError) -> Google_Firestore_V1_ListDocumentsResponse {
        guard !request.showMissing else {
            throw .invalidArgument("collection id must be set when show_missing is true")
        }
        let orders = try coder.decode(orderBy: request.orderBy)
        guard orders.allSatisfy({ $0.path.isDocumentID && !$0.isDescending }) else {
            throw .invalidArgument("kind is required for all orders except __key__ ascending")
        }
        let size = try PageToken.size(request.pageSize, most: maxPage)
        let time = try ReadTime(ConsistencySelector(request.consistencySelector), database, coder)
        guard time.transaction == nil else {
            throw LarderError(
                .unimplemented, "a list of all collections in a transaction is not implemented")
        }
        var range = DocumentNameRange()
        if let values = try PageToken.values(request.pageToken, coder) {
            guard case .reference(let name)? = values.first, let path = name.document,
                values.count == 1
            else { throw .invalidArgument("the page token belongs to another list") }
            range.lower = .init(path, isInclusive: false)
        }
        let documents = database.backend.cursor(
            .descendants(of: try coder.decode(parent: request.parent), directly: true, in: range),
            as: database.credentials, asOf: time.asOf, memory: database.origin?.memory)
        defer { documents.close() }
        let mask = request.hasMask ? try coder.decode(request.mask) : nil
        var response = Google_Firestore_V1_ListDocumentsResponse()
        var (last, isWhole, hasMore, bytes) = (DocumentPath?.none, false, false, 0)
        while !isWhole, !hasMore {
            (_, isWhole) = try documents.next(maxBytes: maxBytes) {
                _, path, document throws(LarderError) in
                guard let document else { return }
                guard response.documents.count < size, last == nil || bytes < maxBytes else {
                    hasMore = true
                    return
                }
                if let message = try coder.encode(document, mask: mask) {
                    response.documents.append(message)
                    (last, bytes) = (path, bytes + Int(document.record?.sizeBytes ?? 0))
                }
            }
        }
        if hasMore, let last {
            let name = ResourceName(database: database.id, document: last)
            response.nextPageToken = try PageToken.text([.reference(name)], coder)
        }
        return response
    }
}

/// A list of the documents of one collection.
private struct DocumentList {
    let database: DatabaseContext
    let coder: MessageCoder
    let collection: CollectionPath
    let time: ReadTime
    let mask: FieldMask?
    /// The approximate size at which a page ends early.
    let maxBytes: Int
    /// The query of the page and those after it.
    var query: Query

    init(
        _ request: Google_Firestore_V1_ListDocumentsRequest, _ database: DatabaseContext,
        _ coder: MessageCoder, maxBytes: Int
    ) throws(LarderError) {
        self.database = database
        self.coder = coder
        self.maxBytes = maxBytes
        guard !request.showMissing || request.orderBy.isEmpty else {
            throw LarderError(.invalidArgument, "show_missing cannot be combined with order_by")
        }
        if let parent = try coder.decode(parent: request.parent) {
            collection = try parent.collection(request.collectionID)
        } else {
            collection = try CollectionPath(request.collectionID)
        }
        time = try ReadTime(ConsistencySelector(request.consistencySelector), database, coder)
        mask = request.hasMask ? try coder.decode(request.mask) : nil
        query = Query(
            .collection(collection), orders: try coder.decode(orderBy: request.orderBy))
        if let values = try PageToken.values(request.pageToken, coder) {
            guard values.count == query.orders.count else {
                throw LarderError(
                    .invalidArgument, "the page token belongs to a list with another order")
            }
            query.start = Bound(values, isInclusive: false)
        }
    }

    func page(_ size: Int) throws(LarderError) -> Google_Firestore_V1_ListDocumentsResponse {
        let (documents, isWhole) = try documents(size)
        var response = Google_Firestore_V1_ListDocumentsResponse()
        for document in documents {
            if let message = try coder.encode(document, mask: mask) {
                response.documents.append(message)
            }
        }
        if !isWhole, let last = documents.last {
            response.nextPageToken = try token(after: last)
        }
        return response
    }

    /// A page of existing documents and missing parents.
    func pageWithMissing(_ size: Int)
        throws(LarderError) -> Google_Firestore_V1_ListDocumentsResponse
    {
        var after: DocumentPath?
        if case .reference(let name)? = query.start?.values.first { after = name.document }
        let (documents, isWhole) = try documents(size)
        // Later missing documents belong to the next page.
        let end = isWhole ? nil : documents.last?.path
        let missing = try database.backend.missingDocuments(in: collection, asOf: time.asOf)
            .filter { path in after.map { $0 < path } ?? true && end.map { path < $0 } ?? true }
        let all =
            (documents.map { (path: $0.path, document: Document?.some($0)) }
            + missing.map { (path: $0, document: Document?.none) })
            .sorted { $0.path < $1.path }
        var response = Google_Firestore_V1_ListDocumentsResponse()
        for (path, document) in all.prefix(size) {
            var message = Google_Firestore_V1_Document()
            message.name = coder.encode(path)
            if let document { message = try coder.encode(document, mask: mask) ?? message }
            response.documents.append(message)
        }
        if !isWhole || all.count > size, let last = all.prefix(size).last {
            response.nextPageToken = try token([nameValue(last.path)])
        }
        return response
    }

    /// The first documents of the page; `isWhole` if none follow them.
    private func documents(_ limit: Int)
        throws(LarderError) -> (documents: [Document], isWhole: Bool)
    {
        var query = query
        query.limit = .first(limit + 1)
        var documents: [Document] = []
        var bytes = 0
        var isWhole = true
        _ = try database.backend.runQuery(
            query, as: database.credentials, in: time.transaction, asOf: time.asOf,
            memory: database.origin?.memory
        ) { document throws(LarderError) in
            guard documents.count < limit, documents.isEmpty || bytes < maxBytes else {
                isWhole = false
                return .stop
            }
            documents.append(document)
            bytes += Int(document.record?.sizeBytes ?? 0)
            return .continue
        }
        return (documents, isWhole)
    }

    private func token(after document: Document) throws(LarderError) -> String {
        try token(
            query.orders.map { order in
                order.path.isDocumentID
                    ? nameValue(document.path) : document[order.path] ?? .null
            })
    }

    private func token(_ values: [Value]) throws(LarderError) -> String {
        try PageToken.text(values, coder)
    }

    private func nameValue(_ path: DocumentPath) -> Value {
        .reference(ResourceName(database: database.id, document: path))
    }
}

// MARK: - Collections

extension FirestoreService {
    private static let maxCollectionsOfPage = 1_000

    /// The IDs of the collections of a document or the root, page by page.
    func listCollectionIDs(_ request: Google_Firestore_V1_ListCollectionIdsRequest)
        async throws(LarderError) -> Google_Firestore_V1_ListCollectionIdsResponse
    {
        try await read(request.parent) { (database, coder) throws(LarderError) in
            var time: Google_Protobuf_Timestamp?
            if case .readTime(let selected)? = request.consistencySelector { time = selected }
            let size = try PageToken.size(request.pageSize, most: Self.maxCollectionsOfPage)
            var ids = try database.backend.collectionIDs(
                below: try coder.decode(parent: request.parent), asOf: ReadTime(at: time).asOf)[...]
            if let values = try PageToken.values(request.pageToken, coder) {
                guard case .string(let last)? = values.first, values.count == 1 else {
                    throw LarderError(.invalidArgument, "the page token belongs to another list")
                }
                ids = ids.drop { !last.utf8.lexicographicallyPrecedes($0.utf8) }
            }
            var response = Google_Firestore_V1_ListCollectionIdsResponse()
            response.collectionIds = Array(ids.prefix(size))
            if ids.count > size, let last = response.collectionIds.last {
                response.nextPageToken = try PageToken.text([.string(last)], coder)
            }
            return response
        }
    }
}

// MARK: - Page tokens

/// The position after a page of a list, as text that the client returns for the next page.
///
/// It encodes the order values of the last entry; a forged token shows nothing that another request
/// would not.
enum PageToken {
    private static let maxBytes = 64 << 10

    static func text(_ values: [Value], _ coder: MessageCoder) throws(LarderError) -> String {
        let cursor = try coder.encode(Bound(values, isInclusive: false), isStart: true)
        guard let data: Data = try? cursor.serializedBytes() else {
            throw LarderError(.internal, "the page token cannot be encoded")
        }
        return data.base64EncodedString()
    }

    /// The position of a token; nil for an empty one.
    ///
    /// - Throws: `invalidArgument` for malformed text.
    static func values(_ text: String, _ coder: MessageCoder) throws(LarderError) -> [Value]? {
        guard !text.isEmpty else { return nil }
        guard text.utf8.count <= maxBytes, let data = Data(base64Encoded: text),
            let cursor = try? Google_Firestore_V1_Cursor(serializedBytes: data)
        else {
            throw LarderError(
                .invalidArgument,
                "the page token is malformed: use the next_page_token of a previous response")
        }
        return try coder.decode(cursor.values)
    }

    /// The number of entries of a page.
    ///
    /// - Throws: `invalidArgument` for a negative size.
    static func size(_ asked: Int32, most: Int) throws(LarderError) -> Int {
        guard asked >= 0 else {
            throw LarderError(.invalidArgument, "the page size \(asked) is negative")
        }
        return asked == 0 ? most : min(Int(asked), most)
    }
}

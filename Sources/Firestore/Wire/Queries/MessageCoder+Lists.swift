package import LarderModel
package import LarderQuery
package import LarderRemote
import SwiftProtobuf

/// Queries without a stream, and lists of names.
extension MessageCoder {
    /// Decodes the responses to a query.
    ///
    /// - Parameter selection: the query; its results arrive in the order of its target.
    /// - Throws: `internal` for malformed responses.
    package func decode(
        _ responses: [Google_Firestore_V1_RunQueryResponse], to selection: QuerySelection
    ) throws(LarderError) -> SelectedDocuments {
        var selected = SelectedDocuments(documents: [], readTime: .none)
        for response in responses {
            if response.hasReadTime {
                selected.readTime = try answer { () throws(LarderError) in
                    try SnapshotVersion(response.readTime)
                }
            }
            if response.hasDocument {
                selected.documents.append(try decode(found: response.document))
            }
        }
        if selection.query.isLimitedToLast { selected.documents.reverse() }
        return selected
    }

    /// Encodes a request for the names of documents of a part of the database.
    ///
    /// - Throws: `invalidArgument` for a limit out of range.
    package func encode(_ page: SubtreePage)
        throws(LarderError) -> Google_Firestore_V1_RunQueryRequest
    {
        var query = Google_Firestore_V1_StructuredQuery()
        var selector = Google_Firestore_V1_StructuredQuery.CollectionSelector()
        selector.allDescendants = true
        query.from = [selector]
        query.select.fields = [encode(field: .documentID)]
        var order = Google_Firestore_V1_StructuredQuery.Order()
        order.field = encode(field: .documentID)
        order.direction = .ascending
        query.orderBy = [order]
        if let bounds = page.bounds {
            query.where.compositeFilter.op = .and
            query.where.compositeFilter.filters = [
                filter(.greaterThanOrEqual, bounds.lower), filter(.lessThan, bounds.upper),
            ]
        }
        if let after = page.after {
            query.startAt = try encode(
                Bound(
                    [.reference(ResourceName(database: database, document: after))],
                    isInclusive: false), isStart: true)
        }
        guard let limit = Int32(exactly: page.limit), limit > 0 else {
            throw .invalidArgument("the limit \(page.limit) is out of range")
        }
        query.limit = Google_Protobuf_Int32Value(limit)
        var request = Google_Firestore_V1_RunQueryRequest()
        request.parent = encode(parent: page.parent)
        request.structuredQuery = query
        return request
    }

    /// A comparison of document names with a path, which need not be valid.
    private func filter(
        _ op: Google_Firestore_V1_StructuredQuery.FieldFilter.Operator, _ path: String
    ) -> Google_Firestore_V1_StructuredQuery.Filter {
        var filter = Google_Firestore_V1_StructuredQuery.FieldFilter()
        filter.field = encode(field: .documentID)
        filter.op = op
        filter.value.referenceValue = "\(database)/documents/\(path)"
        var message = Google_Firestore_V1_StructuredQuery.Filter()
        message.fieldFilter = filter
        return message
    }

    /// Decodes the name of a document in a response.
    ///
    /// - Throws: `internal` for a malformed name.
    package func decode(listed document: Google_Firestore_V1_Document)
        throws(LarderError) -> DocumentPath
    {
        try answer { () throws(LarderError) in try decode(documentName: document.name) }
    }

    /// Encodes a request for a page of the collection IDs below a document, or at the root for nil.
    package func encode(listingCollectionsBelow parent: DocumentPath?, after token: String)
        -> Google_Firestore_V1_ListCollectionIdsRequest
    {
        var request = Google_Firestore_V1_ListCollectionIdsRequest()
        request.parent = encode(parent: parent)
        request.pageToken = token
        return request
    }

    /// Encodes a request for a page of the names of a collection's documents, including missing
    /// ones.
    package func encode(listingDocumentsOf collection: CollectionPath, after token: String)
        -> Google_Firestore_V1_ListDocumentsRequest
    {
        var request = Google_Firestore_V1_ListDocumentsRequest()
        request.parent = encode(parent: collection.parent)
        request.collectionID = collection.id
        request.pageToken = token
        request.showMissing = true
        // Names alone.
        request.mask = encode(FieldMask([.documentID]))
        return request
    }
}

// MARK: - Batches

extension MessageCoder {
    /// Encodes a request to commit each of some mutations by itself.
    ///
    /// - Throws: as ``encode(_:)-(Mutation)``.
    package func encode(committingEach mutations: [Mutation])
        throws(LarderError) -> Google_Firestore_V1_BatchWriteRequest
    {
        var message = Google_Firestore_V1_BatchWriteRequest()
        message.database = "\(database)"
        message.writes = try encode(mutations)
        return message
    }

    /// Decodes the results of mutations that were committed by themselves.
    ///
    /// - Throws: `internal` for a malformed response.
    package func decode(_ response: Google_Firestore_V1_BatchWriteResponse, count: Int)
        throws(LarderError) -> [MutationOutcome]
    {
        try answer { () throws(LarderError) in
            guard response.status.count == count, response.writeResults.count == count else {
                throw .invalidArgument(
                    "\(response.writeResults.count) results with \(response.status.count) "
                        + "statuses for \(count) writes")
            }
            let results = try decode(response.writeResults, at: .none)
            return zip(response.status, results).map { status, result in
                LarderError(status).map { .failure($0) } ?? .success(result)
            }
        }
    }
}

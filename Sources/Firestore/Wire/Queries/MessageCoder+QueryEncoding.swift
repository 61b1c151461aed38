package import LarderModel
package import LarderQuery
import SwiftProtobuf

extension MessageCoder {
    /// Encodes a request to run a query at the current time.
    ///
    /// - Throws: as ``encode(_:)-(QuerySelection)``.
    package func encode(running selection: QuerySelection)
        throws(LarderError) -> Google_Firestore_V1_RunQueryRequest
    {
        var message = Google_Firestore_V1_RunQueryRequest()
        (message.parent, message.structuredQuery) = try encode(selection)
        return message
    }

    /// Encodes a query with explicit orders, and the name of its parent.
    ///
    /// - Throws: `invalidArgument` for a query of one document, which has no encoding, and for
    ///   values that exist only locally.
    package func encode(_ selection: QuerySelection)
        throws(LarderError) -> (parent: String, query: Google_Firestore_V1_StructuredQuery)
    {
        var (parent, message) = try encode(selection.query.target)
        guard let offset = Int32(exactly: selection.offset), offset >= 0 else {
            throw .invalidArgument("the offset \(selection.offset) is out of range")
        }
        message.offset = offset
        if selection.isEmpty { message.limit = Google_Protobuf_Int32Value(0) }
        if let mask = selection.mask {
            // An empty projection would select all fields.
            let paths = mask.paths.isEmpty ? [.documentID] : mask.paths
            message.select.fields = paths.map(encode(field:))
        }
        return (parent, message)
    }

    /// Encodes a target, and the name of its parent.
    ///
    /// - Throws: as ``encode(_:)-(QuerySelection)``.
    package func encode(_ target: QueryTarget)
        throws(LarderError) -> (parent: String, query: Google_Firestore_V1_StructuredQuery)
    {
        var message = Google_Firestore_V1_StructuredQuery()
        var selector = Google_Firestore_V1_StructuredQuery.CollectionSelector()
        let parent: String
        switch target.source {
        case .collection(let path):
            parent = encode(parent: path.parent)
            selector.collectionID = path.id
        case .group(let id):
            parent = encode(parent: nil)
            selector.collectionID = id
            selector.allDescendants = true
        case .document(let path):
            throw .invalidArgument("a query of the single document '\(path)' cannot be sent")
        }
        message.from = [selector]
        if let filter = try encode(target.filters) { message.where = filter }
        message.orderBy = target.orders.map(encode)
        if let limit = target.limit {
            guard let count = Int32(exactly: limit) else {
                throw .invalidArgument("the limit \(limit) is out of range")
            }
            message.limit = Google_Protobuf_Int32Value(count)
        }
        if let start = target.start { message.startAt = try encode(start, isStart: true) }
        if let end = target.end { message.endAt = try encode(end, isStart: false) }
        return (parent, message)
    }

    /// Encodes a bound of a query.
    ///
    /// - Parameter isStart: whether it is the lower bound.
    /// - Throws: as ``encode(_:)-(Value)``.
    package func encode(_ bound: Bound, isStart: Bool)
        throws(LarderError) -> Google_Firestore_V1_Cursor
    {
        var message = Google_Firestore_V1_Cursor()
        message.values = try encode(bound.values)
        message.before = bound.isInclusive == isStart
        return message
    }

    private func encode(_ order: Order) -> Google_Firestore_V1_StructuredQuery.Order {
        var message = Google_Firestore_V1_StructuredQuery.Order()
        message.field = encode(field: order.path)
        message.direction = order.isDescending ? .descending : .ascending
        return message
    }
}

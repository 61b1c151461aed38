import LarderModel
import LarderQuery

/// Named queries as named values; the time is the read time, the payload a record:
///
///     version            1
///     target             the bytes of the query's target
///     last               whether its limit counts from the end
///     orders             how many of the orders were asked for
extension NamedQuery {
    private static let version: Int64 = 1

    /// The bytes under which the query is kept.
    func payload() throws(LarderError) -> [UInt8] {
        try Record([
            "version": .integer(Self.version), "target": .bytes(try query.target.encoded()),
            "last": .boolean(query.isLimitedToLast),
            "orders": .integer(Int64(query.explicitOrders.count)),
        ]).bytes
    }

    /// Reads what is kept under a name.
    ///
    /// - Throws: `dataLoss` for anything that is no query; `failedPrecondition` for one that a
    ///   newer version kept.
    init(name: String, payload: [UInt8], readTime: SnapshotVersion) throws(LarderError) {
        guard let fields = try? Record(validating: payload, maxBytes: .max).fields,
            fields["version"] == .integer(Self.version),
            case .bytes(let bytes)? = fields["target"],
            case .boolean(let isLast)? = fields["last"],
            case .integer(let orderCount)? = fields["orders"], orderCount >= 0
        else { throw .malformedNamedQuery }
        let target = try QueryTarget(decoding: bytes)
        guard var query = isLast ? target.queryLimitedToLast : target.query else {
            throw .malformedNamedQuery
        }
        query.explicitOrders = Array(query.explicitOrders.prefix(Int(orderCount)))
        guard query.target == target else { throw .malformedNamedQuery }
        self.init(name: name, query: query, readTime: readTime)
    }
}

extension LarderError {
    fileprivate static var malformedNamedQuery: LarderError {
        LarderError(.dataLoss, "a named query is malformed", condition: .corrupt)
    }
}

/// The number of a transaction; later transactions have larger ones.
package struct TransactionID: Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: TransactionID, right: TransactionID) -> Bool {
        left.rawValue < right.rawValue
    }
}

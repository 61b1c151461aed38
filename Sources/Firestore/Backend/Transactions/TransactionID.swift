/// The name of an open transaction.
package struct TransactionID: Hashable, Sendable {
    let number: UInt64

    init(number: UInt64) {
        self.number = number
    }

    /// A transaction by the bytes that a client gives back; nil for bytes that name none.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 8 else { return nil }
        number = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The bytes that a client is given.
    package var bytes: [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}

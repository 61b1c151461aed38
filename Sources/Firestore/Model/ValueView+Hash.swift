import CLarder

extension ValueView {
    /// A hash that two values share when they have the same place in Firestore's order, as 1 and
    /// 1.0 have; equal values always do.
    ///
    /// The same within one process only. Linear in the value's size.
    package func orderHash() throws(LarderError) -> Int {
        let order = try filledBuffer { buffer, capacity, needed, failure in
            larder_order_encode(
                bytes, Int32(LARDER_ORDER_ASCENDING), buffer, capacity, needed, failure)
        }
        return order.orderHash
    }
}

extension EncodedValue {
    /// A hash that two values share when they have the same place in Firestore's order, as 1 and
    /// 1.0 have; equal values always do.
    ///
    /// The same within one process only. Linear in the value's size.
    package func orderHash() throws(LarderError) -> Int {
        try orderBytes().orderHash
    }
}

extension [UInt8] {
    fileprivate var orderHash: Int {
        var hasher = Hasher()
        withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}

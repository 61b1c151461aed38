public import Foundation

extension Value {
    /// Firestore's total order of values, which is not `==`: 1 and 1.0 have the same place in it.
    ///
    /// Values of different types are ordered by ``ValueType``. Both values are encoded to be
    /// compared: for repeated comparisons, use ``EncodedValue/compare(to:)``.
    ///
    /// - Throws: as ``EncodedValue/init(_:)``.
    public func compare(to other: Value) throws(LarderError) -> ComparisonResult {
        let builder = try RecordBuilder()
        return try builder.encode(self).compare(to: builder.encode(other))
    }
}

extension Double {
    /// The bits that decide equality: all NaNs are one, 0.0 and -0.0 are two.
    package var firestoreBits: UInt64 {
        isNaN ? 0x7ff8_0000_0000_0000 : bitPattern
    }

    /// Firestore's equality of doubles.
    func isFirestoreEqual(to other: Double) -> Bool {
        firestoreBits == other.firestoreBits
    }
}

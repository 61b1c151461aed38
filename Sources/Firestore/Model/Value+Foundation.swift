public import Foundation

extension Value {
    /// A copy of bytes, such as a `Data`.
    public init(bytes: some ContiguousBytes) {
        self = .bytes(bytes.withUnsafeBytes { [UInt8]($0) })
    }

    /// The instant of a date, as Firestore stores it: cut to microseconds.
    ///
    /// - Throws: `invalidArgument` for a date outside the years 0001 to 9999.
    public init(date: Date) throws(LarderError) {
        self = .timestamp(try Timestamp(validating: date).truncatedToMicroseconds)
    }
}

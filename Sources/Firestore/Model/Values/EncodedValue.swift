import CLarder
public import Foundation

/// A value in its encoded form, for in-place comparison with fields of records.
public struct EncodedValue: Sendable {
    package let bytes: [UInt8]

    /// Encodes a value.
    ///
    /// - Throws: `invalidArgument` for arrays and maps nested beyond 128 levels, or an empty or too
    ///   long field name.
    public init(_ value: Value) throws(LarderError) {
        self = try RecordBuilder().encode(value)
    }

    /// The value's type.
    public let type: ValueType

    init(unchecked bytes: [UInt8], _ type: ValueType) {
        self.bytes = bytes
        self.type = type
    }

    /// Firestore's total order; see ``Value/compare(to:)``.
    public func compare(to other: EncodedValue) -> ComparisonResult {
        withBorrowedBytes { left in
            other.withBorrowedBytes { ComparisonResult(order: larder_value_compare(left, $0)) }
        }
    }

    /// The value, decoded.
    public func value() throws(LarderError) -> Value {
        var result: Result<Value, LarderError> = .failure(Value.malformed)
        withBorrowedBytes { bytes in
            result = Result { () throws(LarderError) in try Value(decoding: bytes) }
        }
        return try result.get()
    }

    /// Calls a closure with a view of the value.
    package func withView<R>(_ body: (borrowing ValueView) -> R) -> R {
        withBorrowedBytes { body(ValueView($0)) }
    }

    /// The size of the value in bytes, by Firestore's published rules.
    public var sizeBytes: Int64 {
        withBorrowedBytes { larder_value_size($0) }
    }

    /// Bytes whose lexicographic order is Firestore's order of values, for bounds of index scans.
    public func orderBytes(isDescending: Bool = false) throws(LarderError) -> [UInt8] {
        let direction = Int32(
            isDescending ? LARDER_ORDER_DESCENDING : LARDER_ORDER_ASCENDING)
        return try filledBuffer { buffer, capacity, needed, failure in
            withBorrowedBytes {
                larder_order_encode($0, direction, buffer, capacity, needed, failure)
            }
        }
    }

    /// The order bytes before or after every value of a type.
    ///
    /// Integers and doubles share one rank.
    public static func orderBytes(
        _ edge: TypeEdge, _ type: ValueType, isDescending: Bool = false
    ) throws(LarderError) -> [UInt8] {
        let direction = Int32(
            isDescending ? LARDER_ORDER_DESCENDING : LARDER_ORDER_ASCENDING)
        return try filledBuffer { buffer, capacity, needed, failure in
            larder_order_encode_type(
                type.rawValue, edge == .before ? 0 : 1, direction, buffer, capacity, needed,
                failure)
        }
    }

    /// An edge of the range of all values of one type.
    public enum TypeEdge: Hashable, Sendable {
        /// Below every value of the type.
        case before
        /// Above every value of the type.
        case after
    }

    func withBorrowedBytes<R>(_ body: (larder_bytes) -> R) -> R {
        bytes.withUnsafeBytes { body(larder_bytes($0)) }
    }
}

extension EncodedValue: Equatable {
    /// Firestore's equality; see ``Value``.
    public static func == (left: EncodedValue, right: EncodedValue) -> Bool {
        left.withBorrowedBytes { l in
            right.withBorrowedBytes { larder_value_equal(l, $0) != 0 }
        }
    }
}

/// Calls a function that fills a buffer; calls it again with a larger buffer if necessary.
func filledBuffer(
    capacity: Int = 256,
    _ fill: (
        UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>, UnsafeMutablePointer<larder_error>
    ) -> Int32
) throws(LarderError) -> [UInt8] {
    var capacity = capacity
    while true {
        var (needed, status) = (0, Int32.ok)
        var failure = larder_error()
        let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            status = fill(buffer.baseAddress, capacity, &needed, &failure)
            count = status == .ok ? needed : 0
        }
        if status == Int32(LARDER_E_BUFFER_TOO_SMALL), needed > capacity {
            capacity = needed
            continue
        }
        try throwIfFailed(status, failure)
        return bytes
    }
}

// MARK: - Hashes

extension ValueView {
    /// A hash consistent with Firestore's order, in which 1 and 1.0 are equivalent.
    ///
    /// Valid only within one process. Linear in the value's size.
    package func orderHash() throws(LarderError) -> Int {
        let order = try filledBuffer { buffer, capacity, needed, failure in
            larder_order_encode(
                bytes, Int32(LARDER_ORDER_ASCENDING), buffer, capacity, needed, failure)
        }
        return order.orderHash
    }
}

extension EncodedValue {
    /// A hash consistent with Firestore's order; see ``EncodedValue/orderHash()``.
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

import CLarder
public import Foundation

/// A value lent to a closure in its encoded form, which cannot be copied or kept.
public struct ValueView: ~Copyable {
    let bytes: larder_bytes

    init(_ bytes: larder_bytes) {
        self.bytes = bytes
    }

    /// The value's type; nil when its bytes are damaged.
    public var type: ValueType? { ValueType(rawValue: larder_value_type(bytes)) }

    /// The value, decoded with everything in it.
    public func value() throws(LarderError) -> Value {
        try Value(decoding: bytes)
    }

    /// The boolean; nil for another type.
    public var boolean: Bool? {
        var boolean: Int32 = 0
        return larder_value_get_boolean(bytes, &boolean) == .ok ? boolean != 0 : nil
    }

    /// The integer; nil for another type.
    public var integer: Int64? {
        var integer: Int64 = 0
        return larder_value_get_integer(bytes, &integer) == .ok ? integer : nil
    }

    /// The double; nil for another type.
    public var double: Double? {
        var number = 0.0
        return larder_value_get_double(bytes, &number) == .ok ? number : nil
    }

    /// The timestamp; nil for another type.
    public var timestamp: Timestamp? {
        var time = larder_time()
        return larder_value_get_timestamp(bytes, &time) == .ok ? time.timestamp : nil
    }

    /// Elements of an array or vector, entries of a map; nil for another type.
    public var count: Int? {
        var count = 0
        return larder_value_count(bytes, &count) == .ok ? count : nil
    }

    /// Gives the content of a string, bytes or reference to a closure, valid inside it only;
    /// nil, without a call, for another type.
    public func withUnsafeContent<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? {
        var content = larder_bytes()
        guard larder_value_get_bytes(bytes, &content) == .ok else { return nil }
        return body(content.buffer)
    }

    /// Lends an entry of a map to a closure; nil, without a call, when there is none.
    public func withEntry<R>(named name: String, _ body: (borrowing ValueView) -> R) -> R? {
        var value = larder_bytes()
        guard withBytes(name, { larder_value_find(bytes, $0, &value) }) == .ok else { return nil }
        return body(ValueView(value))
    }

    /// Lends every element of an array to a closure, in order; does nothing for other types.
    public func forEachElement(_ body: (borrowing ValueView) -> IterationStep) {
        guard type == .array, let count else { return }
        for position in 0..<count {
            var element = larder_bytes()
            guard larder_value_get_element(bytes, position, &element) == .ok else { return }
            if body(ValueView(element)) == .stop { return }
        }
    }

    /// Whether an array has an element that equals a value, by Firestore's equality.
    public func contains(_ value: EncodedValue) -> Bool {
        var isFound = false
        forEachElement { element in
            isFound = element.isEqual(to: value)
            return isFound ? .stop : .continue
        }
        return isFound
    }

    /// The order of this value and another; see ``Value/compare(to:)``.
    public func compare(to other: EncodedValue) -> ComparisonResult {
        other.withBorrowedBytes { ComparisonResult(order: larder_value_compare(bytes, $0)) }
    }

    /// Whether this value equals another, by Firestore's equality.
    public func isEqual(to other: EncodedValue) -> Bool {
        other.withBorrowedBytes { larder_value_equal(bytes, $0) != 0 }
    }
}

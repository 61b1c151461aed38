import CLarder
public import Foundation

/// A value in its encoded form, passed to a closure; it cannot be copied or stored.
public struct ValueView: ~Copyable {
    let bytes: larder_bytes

    init(_ bytes: larder_bytes) {
        self.bytes = bytes
    }

    /// The value's type; nil if its bytes are damaged.
    public var type: ValueType? { ValueType(rawValue: larder_value_type(bytes)) }

    /// The completely decoded value.
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

    /// The number of elements of an array or vector, or entries of a map; nil for another type.
    public var count: Int? {
        var count = 0
        return larder_value_count(bytes, &count) == .ok ? count : nil
    }

    /// Calls a closure with the content of a string, bytes or reference, valid only inside it;
    /// returns nil without a call for another type.
    public func withUnsafeContent<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? {
        var content = larder_bytes()
        guard larder_value_get_bytes(bytes, &content) == .ok else { return nil }
        return body(content.buffer)
    }

    /// Calls a closure with an entry of a map; returns nil without a call if there is none.
    public func withEntry<R>(named name: String, _ body: (borrowing ValueView) -> R) -> R? {
        var value = larder_bytes()
        guard withBytes(name, { larder_value_find(bytes, $0, &value) }) == .ok else { return nil }
        return body(ValueView(value))
    }

    /// Calls a closure with every element of an array, in order; has no effect for other types.
    public func forEachElement(_ body: (borrowing ValueView) -> IterationStep) {
        guard type == .array, let count else { return }
        for position in 0..<count {
            var element = larder_bytes()
            guard larder_value_get_element(bytes, position, &element) == .ok else { return }
            if body(ValueView(element)) == .stop { return }
        }
    }

    /// True if an array has an element that equals a value, by Firestore's equality.
    public func contains(_ value: EncodedValue) -> Bool {
        var isFound = false
        forEachElement { element in
            isFound = element.isEqual(to: value)
            return isFound ? .stop : .continue
        }
        return isFound
    }

    /// The order of this value relative to another; see ``Value/compare(to:)``.
    public func compare(to other: EncodedValue) -> ComparisonResult {
        other.withBorrowedBytes { ComparisonResult(order: larder_value_compare(bytes, $0)) }
    }

    /// True if this value equals another, by Firestore's equality.
    public func isEqual(to other: EncodedValue) -> Bool {
        other.withBorrowedBytes { larder_value_equal(bytes, $0) != 0 }
    }
}

/// The components of a vector where it is stored, which need not be aligned.
@usableFromInline
package struct VectorComponents: RandomAccessCollection {
    @usableFromInline let bytes: UnsafeRawBufferPointer

    @usableFromInline
    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    @usableFromInline package var startIndex: Int { 0 }

    @usableFromInline package var endIndex: Int { bytes.count / 8 }

    @inlinable
    package subscript(position: Int) -> Double {
        bytes.loadUnaligned(fromByteOffset: 8 * position, as: Double.self)
    }
}

// MARK: - Contents

extension ValueView {
    /// The geo point; nil for another type.
    public var geoPoint: GeoPoint? {
        var (latitude, longitude) = (0.0, 0.0)
        guard larder_value_get_geo_point(bytes, &latitude, &longitude) == .ok else { return nil }
        return GeoPoint(unchecked: latitude, longitude)
    }

    /// The components of a vector; nil for another type.
    public var vector: VectorValue? {
        guard type == .vector, let count else { return nil }
        let components = [Double](unsafeUninitializedCapacity: count) { buffer, initialized in
            for position in 0..<count {
                var component = 0.0
                guard larder_value_get_component(bytes, position, &component) == .ok else { return }
                buffer.initializeElement(at: position, to: component)
                initialized = position + 1
            }
        }
        return components.count == count ? VectorValue(components) : nil
    }

    /// Calls a closure with the components of a vector in place, valid only inside it; returns nil
    /// without a call for another type.
    @inlinable
    package func withVector<R>(_ body: (VectorComponents) -> R) -> R? {
        payload(ofType: .vector).map { body(VectorComponents(bytes: $0)) }
    }

    /// The bytes of a value after its tag; nil for another type.
    @usableFromInline
    func payload(ofType type: ValueType) -> UnsafeRawBufferPointer? {
        guard self.type == type, count != nil else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes.buffer.dropFirst())
    }

    /// A copy of the text of a string or reference; nil for types without content.
    public var text: String? {
        var content = larder_bytes()
        guard larder_value_get_bytes(bytes, &content) == .ok else { return nil }
        return content.text
    }

    /// The local write time of a pending server timestamp; nil for another type.
    public var localWriteTime: Timestamp? {
        var (time, previous) = (larder_time(), larder_bytes())
        guard larder_value_get_server_timestamp(bytes, &time, &previous) == .ok else { return nil }
        return time.timestamp
    }

    /// Calls a closure with the previous value of a pending server timestamp; returns nil without a
    /// call if there is none.
    public func withPreviousValue<R>(_ body: (borrowing ValueView) -> R) -> R? {
        var (time, previous) = (larder_time(), larder_bytes())
        guard larder_value_get_server_timestamp(bytes, &time, &previous) == .ok,
            previous.size_bytes > 0
        else { return nil }
        return body(ValueView(previous))
    }

    /// Calls a closure with every entry of a map, in UTF-8 order of names; has no effect for other
    /// types.
    public func forEachEntry(_ body: (String, borrowing ValueView) -> IterationStep) {
        guard type == .map, let count else { return }
        for position in 0..<count {
            var (name, value) = (larder_bytes(), larder_bytes())
            guard larder_value_get_entry(bytes, position, &name, &value) == .ok else { return }
            if body(name.text, ValueView(value)) == .stop { return }
        }
    }

    /// Calls a closure with every element of an array, last first; has no effect for other types.
    ///
    /// - Throws: `dataLoss` for damaged bytes; the closure's error.
    package func forEachElementFromLast(
        _ body: (borrowing ValueView) throws(LarderError) -> Void
    ) throws(LarderError) {
        guard type == .array, let count else { return }
        for position in (0..<count).reversed() {
            var element = larder_bytes()
            let status = larder_value_get_element(bytes, position, &element)
            guard status == .ok else { throw LarderError(status: status) }
            try body(ValueView(element))
        }
    }

    /// Calls a closure with every entry of a map, last first, and the UTF-8 of its name; has no
    /// effect for other types.
    ///
    /// - Throws: `dataLoss` for damaged bytes; the closure's error.
    package func forEachEntryFromLast(
        _ body: (UnsafeRawBufferPointer, borrowing ValueView) throws(LarderError) -> Void
    ) throws(LarderError) {
        guard type == .map, let count else { return }
        for position in (0..<count).reversed() {
            var (name, value) = (larder_bytes(), larder_bytes())
            let status = larder_value_get_entry(bytes, position, &name, &value)
            guard status == .ok else { throw LarderError(status: status) }
            try body(name.buffer, ValueView(value))
        }
    }
}

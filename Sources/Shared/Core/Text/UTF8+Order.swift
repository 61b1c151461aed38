import Foundation

/// Text as Firestore sees it: its UTF-8 bytes. Swift's `==` and `<` on `String` follow Unicode's
/// canonical equivalence, so that a composed and a decomposed "é" would be one field name.
///
/// Inlinable, so that other modules specialise it: documents and keys are compared all the time.
extension String {
    /// True if both texts are the same bytes.
    @inlinable package func hasSameUTF8(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8Order(to: other) == 0
    }

    /// True if the text begins with the bytes of another.
    @inlinable package func hasUTF8Prefix(_ prefix: String) -> Bool {
        utf8.count >= prefix.utf8.count
            && utf8.prefix(prefix.utf8.count).byteOrder(to: prefix.utf8) == 0
    }

    /// The byte order of both texts: below, equal to or above 0.
    @inlinable package func utf8Order(to other: String) -> Int {
        utf8.byteOrder(to: other.utf8)
    }

    /// Gives the bytes to a closure, without copying those of text that is contiguous.
    @inlinable package func withUTF8Bytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        let result = utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
        if let result { return result }
        var text = self
        return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    /// Feeds the bytes to a hasher, as `hasSameUTF8(as:)` compares them.
    @inlinable package func hashUTF8(into hasher: inout Hasher) {
        let hashed: Void? = utf8.withContiguousStorageIfAvailable { bytes in
            hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
        if hashed == nil {
            Array(utf8).withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        hasher.combine(0xff as UInt8)
    }
}

extension Collection where Element == UInt8 {
    /// The order of both byte sequences, the shorter first where one begins the other.
    @inlinable package func byteOrder(to other: some Collection<UInt8>) -> Int {
        let order = withContiguousStorageIfAvailable { left in
            other.withContiguousStorageIfAvailable { right in
                orderOfBytes(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
        if case .some(.some(let order)) = order { return order }
        return Array(self).withUnsafeBytes { left in
            Array(other).withUnsafeBytes { right in orderOfBytes(left, right) }
        }
    }
}

@usableFromInline
func orderOfBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    guard let l = left.baseAddress, let r = right.baseAddress else {
        return left.count - right.count
    }
    let order = memcmp(l, r, Swift.min(left.count, right.count))
    return order != 0 ? Int(order) : left.count - right.count
}

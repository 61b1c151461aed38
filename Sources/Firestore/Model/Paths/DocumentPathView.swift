public import Foundation

/// A document's path, passed to a closure and compared in place without copying.
///
/// It cannot be copied or stored; ``path`` creates a ``DocumentPath``.
public struct DocumentPathView: ~Copyable {
    private let collection: UnsafeRawBufferPointer
    private let id: UnsafeRawBufferPointer

    /// Views the bytes of a collection path and an ID, which must outlive the view.
    package init(collection: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        self.collection = collection
        self.id = id
    }

    /// Views the bytes of a complete path.
    init(_ path: UnsafeRawBufferPointer) {
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        collection = UnsafeRawBufferPointer(rebasing: path[..<slash])
        id = UnsafeRawBufferPointer(rebasing: path[slash...].dropFirst())
    }

    /// A copy that outlives the closure.
    public var path: DocumentPath {
        let count = collection.count + 1 + id.count
        return DocumentPath(
            unchecked: String(unsafeUninitializedCapacity: count) { text in
                let text = UnsafeMutableRawBufferPointer(text)
                text.copyMemory(from: collection)
                text[collection.count] = UInt8(ascii: "/")
                UnsafeMutableRawBufferPointer(rebasing: text[(collection.count + 1)...])
                    .copyMemory(from: id)
                return count
            })
    }

    /// True if the document is directly in a collection.
    public func isDirectly(in collection: CollectionPath) -> Bool {
        collection.string.withUTF8Bytes { self.collection.hasSameBytes(as: $0) }
    }

    /// True if the document is in any collection with an ID.
    public func isInGroup(_ group: String) -> Bool {
        group.withUTF8Bytes { group in
            let start = collection.count - group.count
            guard start >= 0, start == 0 || collection[start - 1] == UInt8(ascii: "/") else {
                return false
            }
            return UnsafeRawBufferPointer(rebasing: collection[start...]).hasSameBytes(as: group)
        }
    }

    /// Firestore's order of documents: segment by segment, numeric IDs (`__id42__`) first.
    ///
    /// Allocates only for numeric IDs.
    public func compare(to other: borrowing DocumentPathView) -> ComparisonResult {
        ComparisonResult(order: order(to: other))
    }

    /// Firestore's order of this document and another.
    public func compare(to path: DocumentPath) -> ComparisonResult {
        path.string.withUTF8Bytes { ComparisonResult(order: order(to: DocumentPathView($0))) }
    }

    /// True if this is the path of a document.
    public func isEqual(to path: DocumentPath) -> Bool {
        guard collection.count + 1 + id.count == path.string.utf8.count else { return false }
        return path.string.withUTF8Bytes {
            let other = DocumentPathView($0)
            return id.hasSameBytes(as: other.id) && collection.hasSameBytes(as: other.collection)
        }
    }

    /// The order as a number below, equal to or above 0.
    private func order(to other: borrowing DocumentPathView) -> Int {
        if collection.hasSameBytes(as: other.collection) {
            return PathSegment.order(id, other.id)
        }
        var left = PathSegments(collection, id)
        var right = PathSegments(other.collection, other.id)
        return PathSegments.order(&left, &right)
    }
}

extension DocumentPath {
    /// Calls a closure with a view of the path, as scans do.
    public func withView<R>(
        _ body: (borrowing DocumentPathView) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        let result = string.withUTF8Bytes { bytes in
            Result { () throws(LarderError) in
                try body(DocumentPathView(bytes))
            }
        }
        return try result.get()
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let left = baseAddress, let right = other.baseAddress else { return count == 0 }
        return memcmp(left, right, count) == 0
    }
}

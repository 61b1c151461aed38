public import Foundation
import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync

/// The data of a location at one time; immutable.
///
/// Numbers are `NSNumber`, so that `as? Int`, `as? Double` and `as? Bool` work as on Apple's
/// systems.
public final class DataSnapshot: Sendable {
    /// The origin and completeness of a snapshot's data.
    public struct Metadata: Hashable, Sendable {
        /// True if all data of the query or the location is known.
        ///
        /// Without it, other children may exist. A query's `value` is incomplete while a local write
        /// changes part of a child of unknown content that may belong to the query, or leaves a
        /// full query short of children. Every observer of `value` that has received it receives
        /// it again once it is complete, even if the data is the same.
        public let isComplete: Bool
        /// True unless the server has sent or confirmed the data on the present connection.
        ///
        /// Confirmed data that has not changed is delivered again by ``DatabaseQuery/values`` and
        /// ``DatabaseQuery/observeValue(includeMetadataChanges:with:withCancel:)`` only. A lost
        /// connection alone delivers nothing.
        public let isFromCache: Bool
        /// True if the data contains writes that the server has not acknowledged.
        public let hasPendingWrites: Bool
    }

    /// The location of the data.
    public let ref: DatabaseReference

    /// The origin and completeness of the data.
    public let metadata: Metadata

    let node: Node
    /// The order of ``children``.
    private let index: NodeIndex

    init(_ ref: DatabaseReference, _ node: Node, by index: NodeIndex, _ metadata: Metadata) {
        self.ref = ref
        self.node = node
        self.index = index
        self.metadata = metadata
    }

    /// The last component of the location's path; empty for the root.
    public var key: String { ref.key ?? "" }

    /// The data as Foundation values; `NSNull` if there is none.
    ///
    /// A node whose keys are mostly consecutive numbers from 0 on is an array.
    ///
    /// Complexity: linear in the size of the data; computed on each access.
    public var value: Any? { node.plainJSON.foundationValue }

    /// The data as Foundation values with priorities: `.value` and `.priority` are members of
    /// dictionaries, and there are no arrays.
    public func valueInExportFormat() -> Any? { node.exportedJSON.foundationValue }

    /// The priority: `NSNumber`, `String` or nil.
    public var priority: Any? { node.priority.leaf?.json.foundationValue }

    /// True if there is any data.
    public func exists() -> Bool { !node.isEmpty }

    /// True if there is data at a relative path.
    public func hasChild(_ childPathString: String) -> Bool {
        guard let path = try? TreePath(validating: childPathString) else { return false }
        return !node.node(at: path).isEmpty
    }

    /// True if the data has children.
    public func hasChildren() -> Bool { node.childCount > 0 }

    /// The number of children.
    public var childrenCount: UInt { UInt(node.childCount) }

    /// The data at a relative path; a snapshot without data for an invalid path.
    public func childSnapshot(forPath childPathString: String) -> DataSnapshot {
        let path = try? TreePath(validating: childPathString)
        return DataSnapshot(
            ref.child(childPathString), path.map { node.node(at: $0) } ?? .empty, by: .priority,
            metadata)
    }

    /// The children as snapshots, in the order of the query.
    ///
    /// The children of children are in the order of their priorities.
    ///
    /// ```swift
    /// for case let child as DataSnapshot in snapshot.children { print(child.key) }
    /// ```
    public var children: NSEnumerator {
        SnapshotEnumerator(childSnapshots.makeIterator())
    }

    /// The children as snapshots, in the order of the query, as a typed sequence.
    public var childSnapshots: some Sequence<DataSnapshot> {
        node.children(by: index).lazy.map { [ref, metadata] child in
            DataSnapshot(ref.child(child), child.node, by: .priority, metadata)
        }
    }

    /// Decodes the data.
    ///
    /// - Throws: Swift's `DecodingError` if the data does not match the type, and errors of the
    ///   value's `init(from:)`; on Linux they cannot be caught `as NSError`.
    public func data<T: Decodable>(
        as type: T.Type, decoder: Database.Decoder = Database.Decoder()
    ) throws -> T {
        try decoder.decode(type, from: node.plainJSON.foundationValue)
    }
}

extension DataSnapshot: CustomStringConvertible {
    /// The key and the value.
    public var description: String {
        var text = Array("Snap (\(key)) ".utf8)
        JSONWriter.append(node.plainJSON, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

extension DatabaseReference {
    /// The location of a child.
    func child(_ child: Child) -> DatabaseReference {
        DatabaseReference(owner, path.map { $0.child(child.key) })
    }
}

extension DataSnapshot.Metadata {
    init(_ metadata: TreeEventMetadata) {
        self.init(
            isComplete: metadata.isComplete, isFromCache: metadata.isFromCache,
            hasPendingWrites: metadata.hasPendingWrites)
    }
}

/// Goes through values one after the other.
final class SnapshotEnumerator: NSEnumerator {
    private let following: () -> Any?

    init<Element>(_ iterator: some IteratorProtocol<Element>) {
        var iterator = iterator
        following = { iterator.next() }
    }

    override func nextObject() -> Any? { following() }
}

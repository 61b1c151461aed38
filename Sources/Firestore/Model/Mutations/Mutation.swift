/// A change of one document, as requested by an application.
package struct Mutation: Sendable, Equatable {
    /// The effect on the document.
    package enum Operation: Sendable, Equatable {
        /// The document is replaced by these fields.
        case set(Record)
        /// Each path of the mask takes the record's value, or is deleted if the record has none.
        case patch(Record, FieldMask)
        case delete
        /// Only the precondition is checked; for transactions.
        case verify
    }

    package let path: DocumentPath
    package let operation: Operation
    package let precondition: Precondition
    /// Transforms, applied after the operation; none for ``Operation/delete``.
    package let transforms: [FieldTransform]

    package init(
        _ operation: Operation, at path: DocumentPath, precondition: Precondition = .none,
        transforms: [FieldTransform] = []
    ) {
        self.path = path
        self.operation = operation
        self.precondition = precondition
        self.transforms = transforms
    }
}

/// The condition under which a mutation is applied to a document.
package enum Precondition: Sendable, Hashable {
    case none
    /// The document exists, or does not.
    case exists(Bool)
    /// The document exists at this version.
    case updateTime(SnapshotVersion)
}

/// A field whose new value depends on its old one or on the backend's clock.
package struct FieldTransform: Sendable, Hashable {
    /// The computation of the new value.
    package enum Operation: Sendable, Hashable {
        /// The backend's time at the commit.
        case serverTimestamp
        /// Missing elements are appended.
        case arrayUnion([Value])
        /// Every element equal to one of these is removed.
        case arrayRemove([Value])
        /// The number grows by this integer or double.
        case increment(Value)
        /// The smaller of the number and this one.
        case minimum(Value)
        case maximum(Value)
    }

    package let path: FieldPath
    package let operation: Operation

    package init(_ path: FieldPath, _ operation: Operation) {
        self.path = path
        self.operation = operation
    }
}

/// A set of field paths: the fields that a patch sets or deletes.
public struct FieldMask: Hashable, Sendable {
    /// The paths in their order, no two alike.
    public let paths: [FieldPath]

    /// A mask of paths in any order.
    public init(_ paths: some Sequence<FieldPath>) {
        var unique: [FieldPath] = []
        for path in paths.sorted() where unique.last != path { unique.append(path) }
        self.paths = unique
    }

    /// The paths of every leaf in a map: an empty map inside is a leaf, and so is an array.
    public init(leavesOf map: MapValue) {
        var paths: [FieldPath] = []
        Self.collectLeaves(of: map, below: [], into: &paths)
        self.init(paths)
    }

    /// True if the path or one that it leads through is in the mask.
    ///
    /// Linear in the number of paths.
    public func covers(_ path: FieldPath) -> Bool {
        paths.contains { $0.isPrefix(of: path) }
    }

    private static func collectLeaves(
        of map: MapValue, below names: [String], into paths: inout [FieldPath]
    ) {
        for (name, value) in map {
            if case .map(let inner) = value, !inner.isEmpty {
                collectLeaves(of: inner, below: names + [name], into: &paths)
            } else {
                paths.append(FieldPath(unchecked: names + [name]))
            }
        }
    }
}

/// The backend's result of a committed mutation.
package struct MutationResult: Sendable, Equatable {
    /// The document's version after the mutation; the commit's own for a delete.
    package let version: SnapshotVersion
    /// The backend's value for each transform of the mutation, in order.
    package let transformResults: [Value]

    package init(version: SnapshotVersion, transformResults: [Value] = []) {
        self.version = version
        self.transformResults = transformResults
    }
}

extension Mutation {
    /// True if the result depends on more of the document than its existence.
    var dependsOnContents: Bool { !hasBase || !transforms.isEmpty }

    /// True if the result does not depend on the document's earlier state.
    var replacesAll: Bool {
        guard precondition == .none, transforms.isEmpty else { return false }
        switch operation {
        case .set, .delete: return true
        case .patch, .verify: return false
        }
    }

    /// The base values of the mutation's increments, for applying it again; nil if it has none.
    ///
    /// A patch that sets each incremented field to the number that it held before the batch, or to
    /// 0, if the document exists. It prevents an increment from being applied twice when its result
    /// comes back before its acknowledgement. A precondition on the version, or that the document
    /// does not exist, determines the base by itself.
    ///
    /// - Parameter document: the document before the whole batch.
    package func base(
        over document: WorkingDocument, using builder: RecordBuilder
    ) throws(LarderError) -> Mutation? {
        guard hasBase else { return nil }
        var (map, paths) = (MapValue(), [FieldPath]())
        for transform in transforms {
            let previous = document.record?[transform.path]
            guard let value = transform.operation.baseValue(from: previous) else { continue }
            map.set(value, at: transform.path.segments[...])
            paths.append(transform.path)
        }
        guard !paths.isEmpty else { return nil }
        return Mutation(
            .patch(try builder.encode(map), FieldMask(paths)), at: path,
            precondition: .exists(true))
    }

    /// True if its increments have a base, and its precondition checks existence at most.
    private var hasBase: Bool {
        switch precondition {
        case .none, .exists(true): true
        case .exists(false), .updateTime: false
        }
    }

    /// Throws unless the backend's answer has a value for each transform.
    package func checkFits(_ result: MutationResult) throws(LarderError) {
        guard result.transformResults.count == transforms.count else {
            throw LarderError(
                .internal,
                "\(result.transformResults.count) results for \(transforms.count) transforms of "
                    + path.string)
        }
    }
}

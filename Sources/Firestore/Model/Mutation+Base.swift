extension Mutation {
    /// Whether what it does depends on more of the document than on whether it exists.
    var dependsOnContents: Bool { !hasBase || !transforms.isEmpty }

    /// Whether nothing that came before matters any more.
    var replacesAll: Bool {
        guard precondition == .none, transforms.isEmpty else { return false }
        switch operation {
        case .set, .delete: return true
        case .patch, .verify: return false
        }
    }

    /// What the increments count from when the mutation is applied again; nil for none.
    ///
    /// A patch that sets each incremented field to the number that it held before the batch, or
    /// to 0, if the document exists. It keeps an increment from being counted twice when its
    /// result comes back before its acknowledgement. A precondition on the version, or that the
    /// document does not exist, fixes what is counted from by itself.
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

    /// Whether its increments have a base, and it goes by no more than whether there is a
    /// document.
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

import LarderModel

/// Converts the application's data, `[String: Any]`, to mutations.
///
/// Validates names, depth, sizes, positions of sentinels and databases of references, so that an
/// accepted write can neither fail nor block the queue later.
struct UserDataReader: Sendable {
    /// The database that references must belong to.
    let databaseID: DatabaseID
    /// The maximum size of a document in bytes.
    let maxDocumentBytes: Int64

    func set(
        _ data: [String: Any], at path: DocumentPath, precondition: Precondition = .none
    ) throws(LarderError) -> Mutation {
        let (record, parser) = try read(data, for: .set)
        try checkSize(of: record, at: path)
        return Mutation(
            .set(record), at: path, precondition: precondition, transforms: parser.sortedTransforms)
    }

    /// The mutation that merges the data into a document: sets every leaf, including empty maps,
    /// and applies `FieldValue.delete()`.
    func mergeSet(
        _ data: [String: Any], at path: DocumentPath, precondition: Precondition = .none
    ) throws(LarderError) -> Mutation {
        let (record, parser) = try read(data, for: .mergeSet)
        try checkSize(of: record, at: path)
        return Mutation(
            .patch(record, FieldMask(parser.leaves)), at: path, precondition: precondition,
            transforms: parser.sortedTransforms)
    }

    /// The mutation that merges the listed fields of the data into a document.
    ///
    /// Every field must be in the data; other data is validated and ignored.
    ///
    /// - Parameter fields: dotted strings or `FieldPath`s.
    func mergeSet(
        _ data: [String: Any], mergeFields fields: [Any], at path: DocumentPath,
        precondition: Precondition = .none
    ) throws(LarderError) -> Mutation {
        let (whole, parser) = try read(data, for: .mergeSet)
        var paths: [LarderModel.FieldPath] = []
        for field in fields {
            let path = try FieldPath.resolving(field)
            guard
                parser.leaves.contains(where: path.isPrefix(of:))
                    || parser.transforms.contains(where: { path.isPrefix(of: $0.path) })
            else {
                throw .invalidArgument(
                    "mergeFields contains the field \(path), which is not in the data")
            }
            paths.append(path)
        }
        let mask = FieldMask(paths)
        let transforms = parser.sortedTransforms
        // A field that is in the mask without a value is deleted before it is transformed.
        let replaced = paths.filter { path in !transforms.contains { $0.path == path } }
        let record = try Record(MapValue()).patched(with: whole, mask: mask)
        try checkSize(of: record, at: path)
        return Mutation(
            .patch(record, FieldMask(replaced)), at: path, precondition: precondition,
            transforms: transforms.filter { mask.covers($0.path) })
    }

    /// Rejects a document whose fields, name and 32 bytes exceed the size limit.
    func checkSize(of record: Record, at path: DocumentPath) throws(LarderError) {
        let rest = Self.nameSize(path) + 32
        guard let size = record.sizeBytes(above: maxDocumentBytes - rest) else { return }
        throw LarderError(
            .invalidArgument,
            "the document \(path) has \(size + rest) bytes; \(maxDocumentBytes) are allowed",
            condition: .tooLarge)
    }

    /// The size of the name: each segment plus one byte, plus 16 bytes.
    private static func nameSize(_ path: DocumentPath) -> Int64 {
        Int64(path.string.utf8.count) + 1 + 16
    }

    private func read(
        _ data: [String: Any], for purpose: UserValueParser.Purpose
    ) throws(LarderError) -> (Record, UserValueParser) {
        do throws(UserValueProblem) {
            var parser = try UserValueParser(purpose, in: databaseID)
            let builder = parser.builder
            try parser.build { () throws(LarderError) in try builder.beginMap() }
            try parser.appendEntries(of: data)
            try parser.build { () throws(LarderError) in try builder.endMap() }
            return (try parser.finishRecord(), parser)
        } catch {
            throw error.error
        }
    }
}

// MARK: - Update

extension UserDataReader {
    /// The mutation that replaces the listed fields of a document and keeps the others.
    ///
    /// Keys are dotted strings or `FieldPath`s. A map replaces the whole field, and
    /// `FieldValue.delete()` is allowed only at the top level. Overlapping keys are rejected,
    /// because their order would be undefined.
    func update(
        _ data: [AnyHashable: Any], at path: DocumentPath,
        precondition: Precondition = .exists(true)
    ) throws(LarderError) -> Mutation {
        let (record, mask, transforms) = try read(Self.sorted(data))
        try checkSize(of: record, at: path)
        return Mutation(
            .patch(record, mask), at: path, precondition: precondition, transforms: transforms)
    }

    /// The fields in path order, without overlaps.
    private static func sorted(
        _ data: [AnyHashable: Any]
    ) throws(LarderError) -> [UserValueParser.Field] {
        var fields: [UserValueParser.Field] = []
        fields.reserveCapacity(data.count)
        for (key, value) in data {
            fields.append((try FieldPath.resolving(key.base), value))
        }
        fields.sort { $0.path < $1.path }
        for (left, right) in zip(fields, fields.dropFirst())
        where left.path.isPrefix(of: right.path) {
            throw .invalidArgument(
                "updateData has the field \(right.path)"
                    + (left.path == right.path ? " twice" : " and also \(left.path)"))
        }
        return fields
    }

    private func read(
        _ fields: [UserValueParser.Field]
    ) throws(LarderError) -> (Record, FieldMask, [FieldTransform]) {
        do throws(UserValueProblem) {
            var parser = try UserValueParser(.update, in: databaseID)
            let mask = try parser.appendFields(fields)
            return (try parser.finishRecord(), FieldMask(mask), parser.sortedTransforms)
        } catch {
            throw error.error
        }
    }
}

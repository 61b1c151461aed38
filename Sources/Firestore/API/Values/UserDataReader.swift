import LarderModel

/// Makes mutations and query values of what applications hand over as `[String: Any]`.
///
/// All rules are checked here, so that a write that was accepted can neither fail nor block the
/// queue later: names, depth, sizes, where sentinels may stand, whose references they are.
struct UserDataReader: Sendable {
    /// The database that references must be of.
    let databaseID: DatabaseID

    /// The mutation that makes a document of the data, whatever was there before.
    func set(
        _ data: [String: Any], at path: DocumentPath, precondition: Precondition = .none
    ) throws(LarderError) -> Mutation {
        let (record, parser) = try read(data, for: .set)
        try checkSize(of: record, at: path)
        return Mutation(
            .set(record), at: path, precondition: precondition, transforms: parser.sortedTransforms)
    }

    /// The mutation that merges the data into a document: every leaf of it is set, an empty map
    /// counts as one, and `FieldValue.delete()` removes.
    func mergeSet(
        _ data: [String: Any], at path: DocumentPath, precondition: Precondition = .none
    ) throws(LarderError) -> Mutation {
        let (record, parser) = try read(data, for: .mergeSet)
        try checkSize(of: record, at: path)
        return Mutation(
            .patch(record, FieldMask(parser.leaves)), at: path, precondition: precondition,
            transforms: parser.sortedTransforms)
    }

    /// The mutation that merges the named fields of the data into a document.
    ///
    /// Each field must be in the data; what else is in the data must be sound and is ignored.
    ///
    /// - Parameter fields: strings with dots or `FieldPath`s.
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
                throw .invalidArgument("the field \(path) is to be merged but is not in the data")
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

    /// A value to compare fields with.
    ///
    /// - Parameters:
    ///   - value: the value; sentinels are refused.
    ///   - allowArrays: whether arrays may stand in an array, as in the lists of `in` and `notIn`.
    func queryValue(_ value: Any, allowArrays: Bool = false) throws(LarderError) -> Value {
        do throws(UserValueProblem) {
            var parser = try UserValueParser(.query(nestedArrays: allowArrays), in: databaseID)
            return try parser.value(value)
        } catch {
            throw error.error
        }
    }

    /// Refuses a document beyond the limit: its fields, its name and 32 bytes.
    func checkSize(of record: Record, at path: DocumentPath) throws(LarderError) {
        // No encoded byte counts for more than 16, so that small records need no walk.
        guard record.byteCount > Self.maxBytes / 32 else { return }
        let size = record.sizeBytes + Self.nameSize(path) + 32
        guard size <= Self.maxBytes else {
            throw LarderError(
                .invalidArgument,
                "the document \(path) has \(size) bytes; \(Self.maxBytes) are allowed",
                condition: .tooLarge)
        }
    }

    private static let maxBytes: Int64 = 1_048_576

    /// What the name counts: each segment and a byte behind it, and 16 bytes.
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
    /// The mutation that replaces the named fields of a document and leaves the others.
    ///
    /// Keys are strings with dots or `FieldPath`s. A map replaces the whole field, and
    /// `FieldValue.delete()` may stand at the top level only. Two keys for one field, or for a
    /// field and one inside it, are refused, since nothing says which comes first.
    func update(
        _ data: [AnyHashable: Any], at path: DocumentPath,
        precondition: Precondition = .exists(true)
    ) throws(LarderError) -> Mutation {
        let (record, mask, transforms) = try read(Self.sorted(data))
        try checkSize(of: record, at: path)
        return Mutation(
            .patch(record, mask), at: path, precondition: precondition, transforms: transforms)
    }

    /// The fields in the order of their paths, no two of them overlapping.
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

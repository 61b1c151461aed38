internal import LarderModel

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

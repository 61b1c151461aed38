package import LarderModel

extension SeededRandom {
    /// A mutation of any kind that a queue takes, with fields that meet those of others.
    package mutating func mutation(
        at path: DocumentPath, versions: [SnapshotVersion]
    ) throws -> Mutation {
        let precondition: Precondition =
            switch below(8) {
            case 0, 1: .exists(true)
            case 2: .exists(false)
            case 3: .updateTime(pick(versions))
            default: .none
            }
        if oneIn(8) { return Mutation(.delete, at: path, precondition: precondition) }
        let transforms = try (0..<max(0, below(5) - 2)).map { _ in try transform() }
        let record = try Record(map(depth: 2))
        if oneIn(3) {
            return Mutation(
                .set(record), at: path, precondition: precondition, transforms: transforms)
        }
        let mask =
            try oneIn(3)
            ? FieldMask(leavesOf: record.fields)
            : FieldMask((0..<below(4)).map { _ in try nestedFieldPath() })
        return Mutation(
            .patch(record, mask), at: path, precondition: precondition, transforms: transforms)
    }

    /// A transform of any kind.
    package mutating func transform() throws -> FieldTransform {
        let operation: FieldTransform.Operation =
            switch below(8) {
            case 0: .serverTimestamp
            case 1: .arrayUnion((0..<below(4)).map { _ in value(depth: 1) })
            case 2: .arrayRemove((0..<below(4)).map { _ in value(depth: 1) })
            case 3: .minimum(number())
            case 4: .maximum(number())
            default: .increment(number())
            }
        return FieldTransform(try nestedFieldPath(), operation)
    }

    /// A path of one to three names, some of which are alike.
    package mutating func nestedFieldPath() throws -> FieldPath {
        try FieldPath((0...(oneIn(3) ? below(3) : 0)).map { _ in name() })
    }

    /// An integer or a double, often one at an edge.
    package mutating func number() -> Value {
        oneIn(2) ? .integer(integer()) : .double(double())
    }
}

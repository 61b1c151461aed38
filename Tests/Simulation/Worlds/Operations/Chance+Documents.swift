import LarderModel
import SimulationSupport

/// Random documents: few, so that clients meet, in similar collections.
extension Chance {
    /// One of the documents.
    func path() throws(LarderError) -> DocumentPath {
        let (collection, count) = pick([
            ("c", 5), ("c/0/d", 3), ("d", 3), ("alice", 2), ("c/1/d", 2),
        ])
        return try DocumentPath("\(collection)/\(below(count))")
    }

    /// A value that is often equal to others, or close to them.
    func value() -> Value {
        switch below(12) {
        case 0: .null
        case 1: .double(Double(below(3)))
        case 2: .string(pick(["a", "b"]))
        case 3: pick([.double(.nan), .double(-0.0), .boolean(true)] as [Value])
        case 4: .map(["x": .integer(Int64(below(2)))])
        default: .integer(Int64(below(4)))
        }
    }

    private func list() -> Value { .array((0..<below(3)).map { _ in value() }) }

    /// Fields, of which some are missing.
    private func fields() -> MapValue {
        var fields = MapValue()
        for name in ["n", "m"] where !oneIn(4) { fields[name] = value() }
        if oneIn(2) { fields["l"] = list() }
        return fields
    }

    private func transform() throws(LarderError) -> FieldTransform {
        switch below(8) {
        case 0: FieldTransform(try FieldPath("t"), .serverTimestamp)
        case 1: FieldTransform(try FieldPath("l"), .arrayUnion([value(), value()]))
        case 2: FieldTransform(try FieldPath("l"), .arrayRemove([value()]))
        case 3: FieldTransform(try FieldPath("n"), .minimum(.integer(Int64(below(4)))))
        case 4: FieldTransform(try FieldPath("n"), .maximum(.integer(Int64(below(4)))))
        default: FieldTransform(try FieldPath(pick(["n", "k"])), .increment(.integer(1)))
        }
    }

    /// The mutations of a write: mostly one, sometimes several.
    ///
    /// - Parameter number: its number in the world.
    func mutations(number: Int) throws(LarderError) -> [Mutation] {
        var mutations: [Mutation] = []
        for _ in 0..<(oneIn(4) ? 1 + below(4) : 1) {
            mutations.append(try mutation(at: try path(), number: number))
        }
        return mutations
    }

    private func mutation(at path: DocumentPath, number: Int) throws(LarderError) -> Mutation {
        if oneIn(7) {
            return Mutation(.delete, at: path, precondition: oneIn(4) ? .exists(true) : .none)
        }
        var fields = fields()
        fields[Mutation.writeNumberField] = .integer(Int64(number))
        let transforms = oneIn(3) ? [try transform()] : []
        // No write has both a value and a transform of one field.
        for transform in transforms { fields[transform.path.segments[0]] = nil }
        let record = try Record(fields)
        if oneIn(3) {
            return Mutation(
                .set(record), at: path, precondition: oneIn(5) ? .exists(false) : .none,
                transforms: transforms)
        }
        var mask = fields.names.map { [$0] }
        // A path without a value deletes.
        let gone = pick(["n", "m", "l"])
        if oneIn(3), !transforms.contains(where: { $0.path.segments == [gone] }) {
            mask.append([gone])
        }
        var paths: [FieldPath] = []
        for names in mask { paths.append(try FieldPath(names)) }
        return Mutation(
            .patch(record, FieldMask(paths)), at: path,
            precondition: oneIn(2) ? .exists(true) : .none, transforms: transforms)
    }
}

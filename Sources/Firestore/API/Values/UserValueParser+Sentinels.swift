internal import LarderModel

extension UserValueParser {
    /// Whether sentinels may stand in the data, and names must not be reserved.
    var isWrite: Bool {
        switch purpose {
        case .set, .mergeSet, .update: true
        case .transformElements, .query: false
        }
    }

    /// Whether arrays may stand inside arrays: in the lists of `in` and `notIn`.
    var allowsNestedArrays: Bool {
        if case .query(nestedArrays: true) = purpose { true } else { false }
    }

    /// Whether a map has entries, and all of them, in maps inside it too, are transforms.
    static func holdsTransformsAlone(_ entries: [String: Any], depth: Int = 0) -> Bool {
        guard !entries.isEmpty, depth < maxDepth else { return false }
        return entries.values.allSatisfy { value in
            // A cast of a map to a class would walk through all that is in it.
            let type = ObjectIdentifier(Swift.type(of: value))
            if type == ObjectIdentifier(FieldValue.self) {
                return (value as? FieldValue)?.operation != .delete
            }
            guard type == ObjectIdentifier([String: Any].self),
                let inner = value as? [String: Any]
            else { return false }
            return holdsTransformsAlone(inner, depth: depth + 1)
        }
    }

    /// The transforms that were noted, in the order of their fields.
    var sortedTransforms: [FieldTransform] {
        transforms.sorted { $0.path < $1.path }
    }

    /// Takes the present place into the mask of a merging write.
    mutating func noteLeaf() {
        guard case .mergeSet = purpose, let path = location.fieldPath else { return }
        leaves.append(path)
    }

    /// Notes a sentinel at the present place: a deletion in the mask, others as transforms.
    mutating func note(_ sentinel: FieldValue) throws(UserValueProblem) {
        guard isWrite, let path = location.fieldPath else { throw misplaced(sentinel) }
        switch sentinel.operation {
        case .delete:
            guard case .mergeSet = purpose else { throw misplaced(sentinel) }
            leaves.append(path)
        case .serverTimestamp: transforms.append(FieldTransform(path, .serverTimestamp))
        case .increment(let amount): transforms.append(FieldTransform(path, .increment(amount)))
        case .minimum(let number): transforms.append(FieldTransform(path, .minimum(number)))
        case .maximum(let number): transforms.append(FieldTransform(path, .maximum(number)))
        case .arrayUnion(let list):
            transforms.append(FieldTransform(path, .arrayUnion(try elements(of: list))))
        case .arrayRemove(let list):
            transforms.append(FieldTransform(path, .arrayRemove(try elements(of: list))))
        }
    }

    /// The elements of a union or removal, whose references must be of this database.
    private func elements(of list: ElementList) throws(UserValueProblem) -> [Value] {
        do throws(UserValueProblem) {
            return try list.get(in: database)
        } catch {
            throw error.inside(location.description)
        }
    }

    /// The sentence for a sentinel where it may not stand.
    func misplaced(_ sentinel: FieldValue) -> UserValueProblem {
        let name = "FieldValue.\(sentinel.name)"
        guard isWrite else {
            return problem("\(name) has a meaning only as a field of setData and updateData")
        }
        guard location.fieldPath != nil else {
            return problem("\(name) cannot stand inside an array")
        }
        if case .update = purpose {
            return problem("\(name) can only stand at the top level of the data of updateData")
        }
        return problem("\(name) can only be used with updateData and with setData that merges")
    }

    /// Checks the name of the entry that the parser is at.
    func checkName(_ name: String) throws(UserValueProblem) {
        let bytes = name.utf8
        guard let first = bytes.first else { throw problem("a field has an empty name") }
        guard location.pathBytes <= LarderModel.FieldPath.maxBytes else {
            throw problem(
                "a field path has \(location.pathBytes) bytes; "
                    + "\(LarderModel.FieldPath.maxBytes) are allowed", condition: .invalidName)
        }
        guard first == UInt8(ascii: "_"), isWrite else { return }
        if name.hasPrefix("__"), name.hasSuffix("__") {
            throw problem(
                "field names that begin and end with \"__\" are reserved", condition: .invalidName)
        }
    }
}

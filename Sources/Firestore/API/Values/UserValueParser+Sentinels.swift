internal import LarderModel

extension UserValueParser {
    /// Whether sentinels are allowed and reserved names are not.
    var isWrite: Bool {
        switch purpose {
        case .set, .mergeSet, .update: true
        case .transformElements, .query: false
        }
    }

    /// Whether arrays may contain arrays, as in the lists of `in` and `notIn`.
    var allowsNestedArrays: Bool {
        if case .query(nestedArrays: true) = purpose { true } else { false }
    }

    /// Whether a map is not empty and all its leaves are transforms.
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

    var sortedTransforms: [FieldTransform] {
        transforms.sorted { $0.path < $1.path }
    }

    /// Adds the current position to the mask of a merging write.
    mutating func noteLeaf() {
        guard case .mergeSet = purpose, let path = location.fieldPath else { return }
        leaves.append(path)
    }

    /// Records a sentinel at the current position: a deletion in the mask, others as transforms.
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

    /// The elements of a union or removal, whose references must belong to this database.
    private func elements(of list: ElementList) throws(UserValueProblem) -> [Value] {
        do throws(UserValueProblem) {
            return try list.get(in: database)
        } catch {
            throw error.inside(location.description)
        }
    }

    /// The error for a sentinel at a position where it is not allowed.
    func misplaced(_ sentinel: FieldValue) -> UserValueProblem {
        let name = "FieldValue.\(sentinel.name)"
        guard isWrite else {
            return problem("\(name) can only be used as a field of setData and updateData")
        }
        guard location.fieldPath != nil else {
            return problem("\(name) cannot be used inside an array")
        }
        if case .update = purpose {
            return problem("\(name) can only be used at the top level of the data of updateData")
        }
        return problem("\(name) can only be used with updateData and with merging setData")
    }

    /// Validates the name of the current entry.
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

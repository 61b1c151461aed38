import LarderModel

/// What documents are to become, as it is collected: the changes of one write, batch or
/// transaction in their order.
struct Writes: Sendable {
    private(set) var mutations: [Mutation] = []
    private let reader: UserDataReader

    init(_ firestore: Firestore) {
        reader = UserDataReader(databaseID: firestore.databaseID)
    }

    mutating func set(
        _ data: [String: Any], at path: DocumentPath, merge: Bool
    ) throws(LarderError) {
        mutations.append(
            merge ? try reader.mergeSet(data, at: path) : try reader.set(data, at: path))
    }

    mutating func set(
        _ data: [String: Any], at path: DocumentPath, mergeFields: [Any]
    ) throws(LarderError) {
        mutations.append(try reader.mergeSet(data, mergeFields: mergeFields, at: path))
    }

    mutating func update(
        _ fields: [AnyHashable: Any], at path: DocumentPath
    ) throws(LarderError) {
        mutations.append(try reader.update(fields, at: path))
    }

    mutating func delete(_ path: DocumentPath) {
        mutations.append(Mutation(.delete, at: path))
    }
}

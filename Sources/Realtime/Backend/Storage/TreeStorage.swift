package import LarderRealtimeModel

/// Where the namespaces of a backend are stored.
package protocol TreeStorage: Sendable {
    /// Reads everything, by namespace.
    func trees() throws(LarderError) -> [String: StoredTree]

    /// Stores changes of a namespace, all or none, durably.
    func commit(_ changes: TreeCommit, to namespace: String) throws(LarderError)

    /// Ends the use of the storage; the completion is called when its files are closed.
    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void)
}

/// A namespace as it is stored.
package struct StoredTree: Sendable {
    package var tree: Node
    /// The backend's records beside the tree, in the order of their numbers.
    package var records: [RecordOwner: [[UInt8]]]

    package init(_ tree: Node = .empty, records: [RecordOwner: [[UInt8]]] = [:]) {
        self.tree = tree
        self.records = records
    }
}

extension StoredTree {
    /// Makes changes, as storages do.
    package mutating func apply(_ changes: TreeCommit) {
        for path in changes.values.paths.sorted() {
            tree = tree.setting(path, to: changes.values[path] ?? .empty)
        }
        for (owner, change) in changes.records {
            var values = change.replacesAll ? [] : records[owner] ?? []
            for (number, record) in change.values.sorted(by: { $0.key < $1.key }) {
                if number < values.count {
                    values[number] = record
                } else {
                    values.append(record)
                }
            }
            records[owner] = values.isEmpty ? nil : values
        }
    }
}

/// What records of a namespace belong to.
package struct RecordOwner: Hashable, Sendable {
    /// What owns records; the texts are part of the format.
    package enum Kind: String, Sendable {
        /// A session, with the operations that its end makes.
        case session
        /// A client, with its writes that may arrive again.
        case client
        /// The namespace, with what identifies the names of its clients' writes.
        case names
        /// The namespace, with security rules that replaced the configured ones.
        case rules
    }

    package let kind: Kind
    /// The owner's name, which has no slash.
    package let id: String

    package init(_ kind: Kind, _ id: String) {
        self.kind = kind
        self.id = id
    }
}

/// The changes of a namespace that are stored together.
package struct TreeCommit: Sendable {
    /// A change of an owner's records.
    package struct Records: Equatable, Sendable {
        /// True if all earlier records are removed.
        package var replacesAll = false
        /// The new records by number.
        package var values: [Int: [UInt8]] = [:]
    }

    /// Nodes at their paths.
    package var values = PathTree<Node>()
    package private(set) var records: [RecordOwner: Records] = [:]

    package init() {}

    package var isEmpty: Bool { values.isEmpty && records.isEmpty }

    /// Adds a record, or replaces the one of the same number.
    package mutating func put(_ record: [UInt8], number: Int = 0, of owner: RecordOwner) {
        records[owner, default: Records()].values[number] = record
    }

    /// Replaces all records of an owner; numbers count from 0.
    package mutating func replaceRecords(of owner: RecordOwner, with records: [[UInt8]] = []) {
        let values = Dictionary(uniqueKeysWithValues: records.enumerated().map { ($0, $1) })
        self.records[owner] = Records(replacesAll: true, values: values)
    }
}

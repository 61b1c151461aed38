/// Targets of one document: nearly always one, which needs no memory of its own.
struct TargetIDSet {
    private let first: Int32
    private var others: Set<Int32> = []

    /// One target.
    init(_ id: Int32) {
        first = id
    }

    /// Adds a target.
    mutating func insert(_ id: Int32) {
        if id != first { others.insert(id) }
    }

    /// Whether all are as a test asks.
    func allSatisfy(_ test: (Int32) -> Bool) -> Bool {
        test(first) && others.allSatisfy(test)
    }
}

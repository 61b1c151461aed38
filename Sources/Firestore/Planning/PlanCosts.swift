/// What the steps of a plan cost, in units of reading and testing one document in a scan by name.
enum PlanCosts {
    /// Finding a document through an index entry or its name.
    static let lookup = 2.5
    /// Passing over an index entry.
    static let entry = 0.3
    /// Putting a name into a set, and out.
    static let setMember = 0.5
    /// Putting one matching document in its place in the order.
    static let sort = 0.4
    /// Beginning a scan.
    static let open = 3.0

    /// Entries of a range that are counted before the rest is guessed.
    static let sampleSize = 256
    /// Documents with pending writes that are counted before an index is asked how many there are.
    static let pendingSampleSize = 64
    /// Of documents that nothing is known about, one in so many is thought to match.
    static let guessedSelectivity = 4.0
    /// Documents of a group that nothing is known about.
    static let guessedGroupCount = 1000.0
    /// Indexes that are intersected at most.
    static let maxIntersection = 4
}

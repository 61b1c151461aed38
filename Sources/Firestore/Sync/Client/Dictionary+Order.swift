extension Dictionary where Key: Comparable {
    /// The values in the order of their keys, so that what is done with them is the same each
    /// time.
    var valuesInOrder: [Value] {
        count < 2 ? Array(values) : sorted { $0.key < $1.key }.map(\.value)
    }
}

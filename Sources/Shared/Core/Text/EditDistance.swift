extension String {
    /// The number of characters to insert, remove or replace to make one text of the other.
    ///
    /// Takes time and memory for short texts: the product of their lengths.
    package func editDistance(to other: String) -> Int {
        var row = Array(0...other.count)
        for (i, character) in enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, candidate) in other.enumerated() {
                let replaced = diagonal + (character == candidate ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = Swift.min(replaced, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[other.count]
    }
}

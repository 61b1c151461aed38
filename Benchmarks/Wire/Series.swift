/// The figures of several rounds.
struct Series: Encodable {
    let median: Double
    let least: Double
    let most: Double

    /// - Parameter figures: one at least.
    init(_ figures: [Double]) {
        let sorted = figures.sorted()
        median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        least = sorted[0]
        most = sorted[sorted.count - 1]
    }
}

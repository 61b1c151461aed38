/// The figures of one system in one row, a round each.
struct Series {
    private(set) var rounds: [Elapsed] = []

    mutating func add(_ figure: Elapsed) { rounds.append(figure) }

    func figures(_ quantity: Row.Quantity) -> [Double] {
        rounds.map { quantity == .wall ? $0.wall : $0.processor }
    }

    func summary(_ quantity: Row.Quantity) -> Summary? { Summary(figures(quantity)) }

    /// This series over another, round by round: what slows the machine down slows both.
    func ratio(to other: Series, _ quantity: Row.Quantity) -> Summary? {
        let pairs = zip(figures(quantity), other.figures(quantity))
        return Summary(pairs.filter { $0.1 > 0 }.map { $0.0 / $0.1 })
    }
}

/// Median and range.
struct Summary {
    let median: Double
    let least: Double
    let most: Double

    init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let least = sorted.first, let most = sorted.last else { return nil }
        let middle = sorted.count / 2
        median =
            sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        self.least = least
        self.most = most
    }
}

/// The result of one round of a row of a measuring program, which `ClientBenchmarks` runs and
/// judges.
package struct Figure: Codable {
    /// The measured system.
    package enum Side: String, Codable {
        case larder
        /// The reference measurement of the row.
        case reference
    }

    /// The row's ID.
    package let row: String
    package let side: Side
    /// Seconds, bytes or a number, per unit of the row.
    package let wall: Double
    package let processor: Double
}

/// Collects results.
package final class Figures {
    package private(set) var all: [Figure] = []

    package init() {}

    /// Adds a round of a row.
    ///
    /// - Parameter units: the number of units in the round.
    package func add(_ row: String, _ side: Figure.Side, _ watch: Elapsed, units: Int) {
        all.append(
            Figure(
                row: row, side: side, wall: watch.wall / Double(units),
                processor: watch.processor / Double(units)))
    }

    /// Adds a result that is not a duration.
    package func add(_ row: String, _ value: Double) {
        all.append(Figure(row: row, side: .larder, wall: value, processor: value))
    }

    /// Runs a closure and adds its duration.
    package func measure(
        _ row: String, _ side: Figure.Side, units: Int, _ body: () throws -> Void
    ) rethrows {
        let start = Elapsed.now
        try body()
        add(row, side, Elapsed.now - start, units: units)
    }
}

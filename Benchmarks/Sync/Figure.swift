import Foundation

/// One round's figure of one row, as `ClientBenchmarks` reads it.
struct Figure: Encodable {
    /// Whose figure it is.
    enum Side: String, Encodable {
        case larder
        /// What the row compares with.
        case reference
    }

    /// The row's id.
    let row: String
    let side: Side
    /// Seconds of one of what the row counts; or bytes, or a number.
    let wall: Double
    let processor: Double
}

/// Collects figures.
final class Figures {
    private(set) var all: [Figure] = []

    /// Adds a round of a row.
    ///
    /// - Parameter units: how many of what the row counts the round did.
    func add(_ row: String, _ side: Figure.Side, _ watch: Elapsed, units: Int) {
        all.append(
            Figure(
                row: row, side: side, wall: watch.wall / Double(units),
                processor: watch.processor / Double(units)))
    }

    /// Adds a figure that is no time.
    func add(_ row: String, _ value: Double) {
        all.append(Figure(row: row, side: .larder, wall: value, processor: value))
    }

    /// Does something and adds how long it took.
    func measure(
        _ row: String, _ side: Figure.Side, units: Int, _ body: () throws -> Void
    ) rethrows {
        let start = Elapsed.now
        try body()
        add(row, side, Elapsed.now - start, units: units)
    }
}

/// Wall-clock and processor time of the process, in seconds.
struct Elapsed {
    var wall = 0.0
    var processor = 0.0

    static var now: Elapsed {
        Elapsed(wall: seconds(CLOCK_MONOTONIC), processor: seconds(CLOCK_PROCESS_CPUTIME_ID))
    }

    static func - (end: Elapsed, start: Elapsed) -> Elapsed {
        Elapsed(wall: end.wall - start.wall, processor: end.processor - start.processor)
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}

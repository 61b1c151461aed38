import Foundation

/// Elapsed wall-clock and processor time of the process, in seconds.
struct Elapsed {
    var wall = 0.0
    var processor = 0.0

    static func / (elapsed: Elapsed, count: Double) -> Elapsed {
        Elapsed(wall: elapsed.wall / count, processor: elapsed.processor / count)
    }

    static func * (elapsed: Elapsed, factor: Double) -> Elapsed {
        Elapsed(wall: elapsed.wall * factor, processor: elapsed.processor * factor)
    }
}

/// Measures from when it is made.
struct Stopwatch {
    private let start = Self.now

    /// The time since.
    var elapsed: Elapsed {
        let now = Self.now
        return Elapsed(wall: now.wall - start.wall, processor: now.processor - start.processor)
    }

    private static var now: Elapsed {
        Elapsed(wall: seconds(CLOCK_MONOTONIC), processor: seconds(CLOCK_PROCESS_CPUTIME_ID))
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}

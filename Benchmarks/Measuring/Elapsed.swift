import Foundation

/// Wall-clock and processor time of the process, in seconds.
package struct Elapsed {
    package var wall: Double
    package var processor: Double

    package init(wall: Double = 0, processor: Double = 0) {
        self.wall = wall
        self.processor = processor
    }

    /// Both clocks; only differences are meaningful.
    package static var now: Elapsed { Elapsed(wall: Clock.wall, processor: Clock.processor) }

    package static func - (end: Elapsed, start: Elapsed) -> Elapsed {
        Elapsed(wall: end.wall - start.wall, processor: end.processor - start.processor)
    }

    package static func / (elapsed: Elapsed, count: Double) -> Elapsed {
        Elapsed(wall: elapsed.wall / count, processor: elapsed.processor / count)
    }

    package static func * (elapsed: Elapsed, factor: Double) -> Elapsed {
        Elapsed(wall: elapsed.wall * factor, processor: elapsed.processor * factor)
    }
}

/// The two clocks, in seconds.
package enum Clock {
    package static var wall: Double { seconds(CLOCK_MONOTONIC) }
    /// Processor time of all threads of this process.
    package static var processor: Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}

import Foundation

/// Command-line options of a simulator.
package struct Options {
    /// The count of worlds.
    package var seeds = 2_000
    /// The time for which worlds are started, instead of a count.
    package var seconds: Int?
    /// The first seed; by default 1, or a new one if ``seconds`` is given.
    package var first: UInt64 = 1
    /// The seed of a single world to run; nil for many.
    package var seed: UInt64?
    /// The count of threads.
    package var jobs = ProcessInfo.processInfo.activeProcessorCount
    /// True to print all events.
    package var isTracing = false

    /// Parses arguments; exits with a usage message if they are invalid.
    package init(_ arguments: some Sequence<String>) {
        var rest = Array(arguments)[...]
        var namesFirst = false
        while let name = rest.popFirst() {
            switch name {
            case "--trace": isTracing = true
            case "--seeds": seeds = Self.number(of: name, &rest)
            case "--seconds": seconds = Self.number(of: name, &rest)
            case "--first":
                first = UInt64(Self.number(of: name, &rest))
                namesFirst = true
            case "--seed": seed = UInt64(Self.number(of: name, &rest))
            case "--jobs": jobs = max(1, Self.number(of: name, &rest))
            default: Self.stop("unknown: \(name)")
            }
        }
        if seconds != nil, !namesFirst { first = Self.unusedSeed }
    }

    /// A seed from the clock in milliseconds, above those of earlier runs.
    private static var unusedSeed: UInt64 {
        UInt64(max(1, Date.now.timeIntervalSince1970 * 1_000))
    }

    private static func number(of name: String, _ rest: inout ArraySlice<String>) -> Int {
        guard let number = rest.popFirst().flatMap({ Int($0) }), number >= 0 else {
            stop("\(name) takes a number")
        }
        return number
    }

    private static func stop(_ message: String) -> Never {
        print(message)
        print(
            "usage: \(ProcessInfo.processInfo.processName) [--seeds N | --seconds N] [--first N] "
                + "[--seed N] [--jobs N] [--trace]")
        exit(64)
    }
}

import Foundation

/// What the program is asked to do.
package struct Options {
    /// How many worlds.
    package var seeds = 2_000
    /// How long new worlds begin, instead of a number of them.
    package var seconds: Int?
    /// The seed of the first one; with a time and nothing else, one that was never used.
    package var first: UInt64 = 1
    /// The seed of the only world, if one alone is asked for.
    package var seed: UInt64?
    /// How many threads.
    package var jobs = ProcessInfo.processInfo.activeProcessorCount
    /// Whether everything that happens is printed.
    package var isTracing = false

    /// Reads arguments; ends the program with a sentence where they are wrong.
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

    /// A seed by the clock, in milliseconds: no earlier run came so far.
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
            "usage: \(ProcessInfo.processInfo.processName) [--seeds N | --seconds N] [--first N] [--seed N] [--jobs N] "
                + "[--trace]")
        exit(64)
    }
}

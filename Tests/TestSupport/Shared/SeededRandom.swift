import Foundation

/// Random numbers that a seed repeats: splitmix64.
///
/// The seed is that of the environment variable `LARDER_TEST_SEED`, or a new one; a failing
/// test prints it.
public struct SeededRandom: RandomNumberGenerator, Sendable, CustomStringConvertible {
    /// What makes the same numbers again.
    public let seed: UInt64

    private var state: UInt64

    /// Numbers of the seed in the environment, or of a new one.
    public init() {
        let given = ProcessInfo.processInfo.environment["LARDER_TEST_SEED"].flatMap { UInt64($0) }
        self.init(seed: given ?? UInt64.random(in: 0...UInt64.max))
    }

    /// Numbers of a seed.
    public init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }

    /// A number from 0 to below the given one.
    public mutating func below(_ bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &self)
    }

    /// True once in the given number of times.
    public mutating func oneIn(_ count: Int) -> Bool {
        below(count) == 0
    }

    /// One of the elements.
    public mutating func pick<C: RandomAccessCollection>(_ elements: C) -> C.Element {
        elements[elements.index(elements.startIndex, offsetBy: below(elements.count))]
    }

    /// How to repeat a failing test.
    public var description: String { "repeat with LARDER_TEST_SEED=\(seed)" }
}

import Foundation
package import LarderSharedTestSupport

/// A random number generator that parts of a world share.
package final class Chance: @unchecked Sendable {
    // One thread runs a world.

    private var random: SeededRandom

    /// Numbers of a seed.
    package init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// A separate generator for another part of the world.
    package func fork() -> Chance {
        Chance(seed: random.next())
    }

    /// Calls a closure with the generator.
    package func with<R>(_ body: (inout SeededRandom) throws -> R) rethrows -> R {
        try body(&random)
    }

    /// A number from 0 up to but not the given one.
    package func below(_ bound: Int) -> Int { random.below(bound) }

    /// True with a probability of one in the given number.
    package func oneIn(_ count: Int) -> Bool { random.oneIn(count) }

    /// True with a probability from 0 to 1.
    package func isTrue(_ part: Double) -> Bool { part > 0 && unit() < part }

    /// A number from 0 up to but not 1.
    package func unit() -> Double { Double.random(in: 0..<1, using: &random) }

    /// One of the elements.
    package func pick<C: RandomAccessCollection>(_ elements: C) -> C.Element {
        random.pick(elements)
    }

    /// One of the weighted elements.
    package func pick<E>(_ weighted: [(weight: Int, element: E)]) -> E {
        var place = below(weighted.reduce(0) { $0 + $1.weight })
        for (weight, element) in weighted {
            if place < weight { return element }
            place -= weight
        }
        return weighted[weighted.count - 1].element
    }

    /// A time of a range, with all orders of magnitude equally likely.
    package func duration(_ range: ClosedRange<Duration>) -> Duration {
        let low = Double(max(range.lowerBound.microseconds, 1))
        let high = Double(max(range.upperBound.microseconds, 1))
        return .microseconds(Int64(low * pow(high / low, unit())))
    }
}

extension Duration {
    /// Whole microseconds.
    package var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}

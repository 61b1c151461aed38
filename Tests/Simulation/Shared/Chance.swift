import Foundation
package import LarderSharedTestSupport

/// Random numbers that several parts of a world draw from, one after the other.
package final class Chance: @unchecked Sendable {
    // One thread runs a world.

    private var random: SeededRandom

    /// Numbers of a seed.
    package init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// Numbers of its own for another part of the world.
    package func fork() -> Chance {
        Chance(seed: random.next())
    }

    /// The generator itself, for what is made with it.
    package func with<R>(_ body: (inout SeededRandom) throws -> R) rethrows -> R {
        try body(&random)
    }

    /// A number from 0 to below the given one.
    package func below(_ bound: Int) -> Int { random.below(bound) }

    /// True once in the given number of times.
    package func oneIn(_ count: Int) -> Bool { random.oneIn(count) }

    /// True for a part of all calls, from 0 for never to 1 for always.
    package func isTrue(_ part: Double) -> Bool { part > 0 && unit() < part }

    /// A number from 0 up to but not 1.
    package func unit() -> Double { Double.random(in: 0..<1, using: &random) }

    /// One of the elements.
    package func pick<C: RandomAccessCollection>(_ elements: C) -> C.Element { random.pick(elements) }

    /// One of the weighted elements.
    package func pick<E>(_ weighted: [(weight: Int, element: E)]) -> E {
        var place = below(weighted.reduce(0) { $0 + $1.weight })
        for (weight, element) in weighted {
            if place < weight { return element }
            place -= weight
        }
        return weighted[weighted.count - 1].element
    }

    /// A time of a range, short ones as likely as long ones: each magnitude gets its share.
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

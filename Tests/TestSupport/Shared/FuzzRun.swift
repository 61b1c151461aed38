import Foundation

/// Random cases, each of which its seed repeats.
///
/// Seeds are consecutive, beginning with that of ``SeededRandom``. The environment variable
/// `LARDER_FUZZ_SECONDS` is the time for which a run goes on; without it a run has few cases.
package struct FuzzRun {
    private static let seconds = ProcessInfo.processInfo.environment["LARDER_FUZZ_SECONDS"]
        .flatMap { Double($0) }
    /// The time between two reports: a case that ends the process is found again within it.
    private static let reportInterval = Duration.seconds(10)

    private let name: String
    private let count: Int

    /// - Parameter count: the number of cases where no time is set.
    package init(_ name: String, count: Int) {
        self.name = name
        self.count = count
    }

    /// Runs cases until one fails.
    ///
    /// - Throws: ``FuzzFailure`` with the seed of the case that failed.
    package func callAsFunction(_ body: (inout SeededRandom) async throws -> Void) async throws {
        let first = SeededRandom().seed
        let clock = ContinuousClock()
        let end = Self.seconds.map { clock.now + .seconds($0) }
        var nextReport = clock.now
        var number = 0
        while end.map({ clock.now < $0 }) ?? (number < count) {
            var random = SeededRandom(seed: first &+ UInt64(number))
            if clock.now >= nextReport {
                report("\(name): \(number) cases, \(random)")
                nextReport = clock.now + Self.reportInterval
            }
            do {
                try await body(&random)
            } catch {
                throw FuzzFailure(name: name, seed: SeededRandom(seed: random.seed), error: error)
            }
            number += 1
            // Runs share few threads.
            await Task.yield()
        }
        report("\(name): \(number) cases passed")
    }

    /// Writes a line, unbuffered: a case may end the process.
    private func report(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("fuzz: \(line)\n".utf8))
    }
}

/// A case that failed.
package struct FuzzFailure: Error, CustomStringConvertible {
    let name: String
    let seed: SeededRandom
    let error: any Error

    package var description: String { "\(name), \(seed): \(error)" }
}

/// What a case expects and does not find.
package struct FuzzFinding: Error, CustomStringConvertible {
    package let description: String

    /// Throws unless a condition is true.
    package static func require(
        _ condition: Bool, _ description: @autoclosure () -> String
    ) throws {
        guard condition else { throw FuzzFinding(description: description()) }
    }
}

extension SeededRandom {
    /// Cuts bytes into pieces at random places.
    ///
    /// - Parameter most: the maximum number of pieces.
    package mutating func cut(_ bytes: [UInt8], most: Int = 300) -> [ArraySlice<UInt8>] {
        if oneIn(8), !bytes.isEmpty { return [bytes[...]] }
        let longest = pick([1, 8, 64, max(bytes.count, 1)])
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let isLast = pieces.count == most - 1
            let piece = isLast ? rest : rest.prefix(1 + below(longest))
            pieces.append(piece)
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    /// Changes, removes or doubles some bytes.
    package mutating func damage(_ bytes: inout [UInt8]) {
        for _ in 0...below(3) where !bytes.isEmpty {
            let position = below(bytes.count)
            let end = min(bytes.count, position + 1 + below(8))
            switch below(5) {
            case 0: bytes[position] ^= 1 << UInt8(below(8))
            case 1: bytes[position] = UInt8(below(256))
            case 2: bytes.removeSubrange(position..<end)
            case 3: bytes.insert(contentsOf: bytes[position..<end], at: position)
            default: bytes.removeSubrange(position...)
            }
        }
    }
}

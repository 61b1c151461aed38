import Foundation
import Larder
import Measuring
import Synchronization
import Workload

/// Point reads from two threads while a writer commits without pause.
struct ThreadOperations {
    let run: Run
    let count: Int

    static let name = "threads"

    private static let scaling = Row(
        id: "threads.scaling", title: "point reads from 2 threads, a writer committing",
        unit: .microseconds, limits: [.atLeast(1.7, timesAsFastAs: .reference)],
        reference: "1 thread, a writer committing")
    private static let writer = Row(
        id: "threads.writer", title: "point reads from 2 threads, a writer committing",
        unit: .microseconds, limits: [.atLeast(0.8, timesAsFastAs: .reference)],
        reference: "2 threads, no writer")
    private static let floorScaling = Row(
        id: "threads.machine", title: "scaling of this machine with two threads: raw LMDB reads",
        unit: .microseconds, limits: [])

    func callAsFunction() async throws {
        guard run.options.includes(Self.name), run.options.systems.contains(.larder) else { return }
        try Stores.build(run, count: count)
        let peer = try LarderPeer(
            directory: try run.copy("larder-\(count)", to: "larder-threads"))
        let numbers = City.randomNumbers(below: count, run.options.isQuick ? 2_000 : 20_000)
        let references = peer.references(numbers)
        let floor = Floor(run, count, numbers)
        for round in -1..<run.options.rounds {
            let alone = try await reads(peer, references, threads: 2)
            let writer = try Writer(peer, from: count)
            let one = try await reads(peer, references, threads: 1)
            let two = try await reads(peer, references, threads: 2)
            writer.stop()
            guard round >= 0 else { continue }
            run.report.add(Self.scaling, count: count, .larder, two)
            run.report.add(Self.scaling, count: count, .reference, one)
            run.report.add(Self.writer, count: count, .larder, two)
            run.report.add(Self.writer, count: count, .reference, alone)
            if let floor {
                run.report.add(Self.floorScaling, count: count, .floor, floor.reads(threads: 2))
                run.report.add(Self.floorScaling, count: count, .reference, floor.reads(threads: 1))
            }
        }
        for row in [Self.scaling, Self.writer, Self.floorScaling] {
            run.report.printRow(row.id, count: count)
        }
        try await peer.close()
    }

    /// The time of one read with a number of concurrent threads: elapsed time over all reads.
    private func reads(
        _ peer: LarderPeer, _ references: [DocumentReference], threads: Int
    ) async throws -> Elapsed {
        let start = Elapsed.now
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<threads {
                group.addTask { try await peer.readPopulation(references) }
            }
            for try await found in group where found != references.count {
                throw Run.Wrong(description: "reading from threads: \(found) found")
            }
        }
        return (Elapsed.now - start) / Double(threads * references.count)
    }

    /// Writes one document after the other, each on disk before the next, on a separate thread: the
    /// readers occupy all of Swift's threads.
    private final class Writer: Sendable {
        private let isStopped = Mutex(false)
        private let ended = DispatchSemaphore(value: 0)

        init(_ peer: LarderPeer, from count: Int) throws {
            let writes = try peer.writes(count..<count + 100)
            Thread.detachNewThread { [self] in
                var next = 0
                while !isStopped.withLock(\.self) {
                    let write = writes[next % writes.count]
                    let handle = write.document.enqueueSetData(write.fields)
                    while handle.batchID == nil { usleep(50) }
                    next += 1
                }
                ended.signal()
            }
        }

        func stop() {
            isStopped.withLock { $0 = true }
            ended.wait()
        }
    }

    /// The same reads of raw LMDB, on threads.
    private struct Floor {
        private let peer: FloorPeer
        private let numbers: [Int64]

        init?(_ run: Run, _ count: Int, _ numbers: [Int64]) {
            guard run.options.systems.contains(.floor) else { return nil }
            peer = FloorPeer(directory: run.path("floor-\(count)"))
            self.numbers = numbers
        }

        func reads(threads: Int) -> Elapsed {
            // Each thread opens its own reader.
            nonisolated(unsafe) let peer = peer
            let numbers = numbers
            let start = Elapsed.now
            let repeats = 5
            DispatchQueue.concurrentPerform(iterations: threads) { _ in
                for _ in 0..<repeats { _ = peer.readElsewhere(numbers) }
            }
            return (Elapsed.now - start) / Double(threads * repeats * numbers.count)
        }
    }
}

import Foundation
import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderStorage
import LarderSync

/// Writes that were made offline, on their way to a backend in this process.
struct DrainedWrites {
    let directory: String
    let figures: Figures
    let count: Int

    func callAsFunction(rounds: Int) throws(LarderError) {
        for _ in 0..<rounds {
            figures.add("drain", .larder, try drain(), units: count)
            try watchMemory()
        }
    }

    private func watchMemory() throws(LarderError) {
        let memory = MemoryWatch()
        _ = try drain()
        figures.add("drain.memory", Double(memory.growth()))
    }

    /// Queues writes, and measures until the backend has acknowledged all.
    private func drain() throws(LarderError) -> Elapsed {
        let path = directory + "/drained"
        try? FileManager.default.removeItem(atPath: path)
        let configuration = MeasuredClient.configuration(path)
        try queue(configuration)
        let backend = try Backend(BackendConfiguration(project: "bench"))
        var online = configuration
        online.remote = backend.connection.remote
        let start = Elapsed.now
        let client = try Client(online)
        if case .failure(let error)? = blocking({ client.waitForPendingWrites($0) }) {
            throw error
        }
        let elapsed = Elapsed.now - start
        guard try backend.documentCount() == count, try client.pendingWrites().isEmpty else {
            throw LarderError(.internal, "not every write has arrived")
        }
        _ = blocking { client.terminate($0) }
        _ = blocking { backend.close($0) }
        return elapsed
    }

    private func queue(_ configuration: ClientConfiguration) throws(LarderError) {
        let offline = try Client(configuration)
        let committed = Counter()
        let builder = try RecordBuilder()
        for number in 0..<count {
            let mutation = Mutation(
                .set(
                    try builder.encode([
                        "number": .integer(Int64(number)), "text": .string(Self.text),
                        "isSet": true,
                    ])), at: try DocumentPath("notes/note\(number)"))
            offline.write(
                [mutation],
                committed: { result in
                    if case .failure(let error) = result { fatalError("\(error)") }
                    committed.add()
                }, acknowledged: { _ in })
        }
        committed.wait(for: count)
        _ = blocking { offline.terminate($0) }
    }

    private static let text = String(repeating: "a note of the usual length; ", count: 7)
}

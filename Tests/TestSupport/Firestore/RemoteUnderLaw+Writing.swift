import LarderModel
import LarderRemote

/// Laws of write streams.
extension RemoteUnderLaw {
    func writesAreAnsweredInOrder() async throws {
        let probe = WriteProbe(remote)
        await probe.wait(\.hasHandshake)
        for number in 0..<5 { probe.write(try set("x", Int64(number)), try set("y\(number)", 1)) }
        await probe.wait { $0.responses.count == 5 || $0.ending != nil }
        let responses = probe.current.responses
        let versions = responses.map(\.commitVersion)
        try require(versions.count == 5 && versions == versions.sorted(), "\(versions)")
        try require(Set(versions).count == 5, "commits of one version: \(versions)")
        try require(responses.allSatisfy { $0.results.count == 2 }, "\(responses)")
        let reading = try await read("x")[0]
        try require(reading.fields?["n"] == 4 && reading.version == versions[4], "\(reading)")
        probe.close()
    }

    func aRefusedWriteEndsItsStream() async throws {
        let probe = WriteProbe(remote)
        await probe.wait(\.hasHandshake)
        probe.write(try set("x", 1))
        probe.write(try patch("none", ["n": 1], .exists(true)))
        probe.write(try set("y", 1))
        await probe.wait { $0.ending != nil }
        let heard = probe.current
        try require(heard.responses.count == 1, "\(heard)")
        try require(heard.ending??.kind == .notFound, "\(heard)")
        let readings = try await read("x", "y")
        try require(readings.map(\.exists) == [true, false], "\(readings)")
    }

    func aClosedWriteStreamIsSilent() async throws {
        let probe = WriteProbe(remote)
        await probe.wait(\.hasHandshake)
        probe.close()
        probe.close()
        let count = probe.current.eventCount
        probe.write(try set("x", 1))
        _ = try await read("x")
        try require(probe.current.eventCount == count, "\(probe.current)")
    }
}

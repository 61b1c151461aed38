import LarderModel
import LarderQuery
import LarderRemote

/// Laws of watch streams.
extension RemoteUnderLaw {
    private func add(_ id: Int32, _ query: Query) -> WatchRequest {
        .add(WatchTarget(id: id, target: query.target))
    }

    /// Waits until the last snapshot has these documents in a target.
    private func wait(
        for numbers: [String: Value], in target: Int32, of probe: WatchProbe
    ) async throws {
        await probe.wait { $0.numbers(of: target) == numbers || $0.ending != nil }
        try require(probe.mirror.violations == [], "\(probe.mirror.violations)")
        try require(probe.mirror.ending == nil, "the stream ended: \(probe.mirror.heard)")
    }

    func targetsBeginWithAll() async throws {
        let version = try await commit(set("x", 1), set("y", 2), set("z", 3, in: "b")).commitVersion
        let probe = watch()
        probe.send(add(2, try query()))
        try await wait(for: ["x": 1, "y": 2], in: 2, of: probe)
        let mirror = probe.mirror
        try require(mirror.heard.first == "opened", "\(mirror.heard)")
        try require(mirror.targets[2]?.resumeToken.isEmpty == false, "no token")
        try require(mirror.snapshots.allSatisfy { $0.version >= version }, "\(mirror.snapshots)")
        try require(mirror.documents.values.allSatisfy { $0.version == version }, "versions")
        probe.send(add(4, try query(in: "empty")))
        try await wait(for: [:], in: 4, of: probe)
        probe.close()
    }

    func changesAreTold() async throws {
        let probe = watch()
        probe.send(add(2, try query(from: 5)))
        try await wait(for: [:], in: 2, of: probe)
        try await commit(set("x", 5), set("y", 7), set("z", 1))
        try await wait(for: ["x": 5, "y": 7], in: 2, of: probe)
        try await commit(set("z", 6), set("x", 8))
        try await wait(for: ["x": 8, "y": 7, "z": 6], in: 2, of: probe)
        try await commit(set("x", 2), delete("y"))
        try await wait(for: ["z": 6], in: 2, of: probe)
        probe.close()
    }

    func targetsOfAStreamAgree() async throws {
        try await commit(set("x", 0))
        let probe = watch()
        probe.send(add(2, try query()))
        probe.send(add(4, try query(from: 1)))
        try await wait(for: ["x": 0], in: 2, of: probe)
        try await wait(for: [:], in: 4, of: probe)
        for number in 1...20 {
            try await commit(set("x", Int64(number % 2)), set("y", Int64((number + 1) % 2)))
        }
        try await wait(for: ["y": 1], in: 4, of: probe)
        for snapshot in probe.mirror.snapshots {
            guard let all = snapshot.targets[2], let some = snapshot.targets[4] else { continue }
            let expected = all.filter { $0.value.fields?["n"] == 1 }
            try require(some == expected, "\(some), not \(expected), at \(snapshot.version)")
        }
        probe.close()
    }

    func missingDocumentsAreTold() async throws {
        let probe = watch()
        probe.send(add(2, Query(.document(try path("x")))))
        try await wait(for: [:], in: 2, of: probe)
        try await commit(set("x", 1))
        try await wait(for: ["x": 1], in: 2, of: probe)
        try await commit(delete("x"))
        try await wait(for: [:], in: 2, of: probe)
        probe.close()
    }

    func limitsHold() async throws {
        try await commit(set("u", 1), set("v", 2), set("w", 3), set("x", 4))
        var query = try query()
        query.explicitOrders = [Order(try FieldPath("n"))]
        query.limit = .first(2)
        let probe = watch()
        probe.send(add(2, query))
        try await wait(for: ["u": 1, "v": 2], in: 2, of: probe)
        try await commit(delete("u"))
        try await wait(for: ["v": 2, "w": 3], in: 2, of: probe)
        try await commit(set("y", 0))
        try await wait(for: ["y": 0, "v": 2], in: 2, of: probe)
        try await commit(set("y", 9))
        try await wait(for: ["v": 2, "w": 3], in: 2, of: probe)
        probe.close()
    }

    func removedTargetsAreSilent() async throws {
        let probe = watch()
        probe.send(add(2, try query()))
        probe.send(add(4, try query(in: "b")))
        try await wait(for: [:], in: 4, of: probe)
        await probe.wait { $0.numbers(of: 2) != nil }
        probe.send(.remove(targetID: 2))
        await probe.wait { $0.targets[2] == nil }
        try await commit(set("x", 1))
        try await commit(set("y", 1, in: "b"))
        try await wait(for: ["y": 1], in: 4, of: probe)
        try require(probe.mirror.documents.keys.map(\.id) == ["y"], "\(probe.mirror.documents)")
        probe.close()
    }

    func resumedTargetsGoOn() async throws {
        for number in 0..<10 { try await commit(set("d\(number)", Int64(number))) }
        let first = watch()
        first.send(add(2, try query()))
        await first.wait { $0.numbers(of: 2)?.count == 10 }
        first.close()
        guard let last = first.mirror.snapshots.last, let known = last.targets[2],
            let token = last.tokens[2]
        else { throw RemoteLawBroken(description: "no snapshot to go on from") }
        try await commit(set("d3", 33), set("new", 1), delete("d5"))
        let second = watch()
        second.send(
            .add(
                WatchTarget(
                    id: 4, target: try query().target, resumption: .token(token),
                    expectedCount: known.count)), known: known)
        await second.wait { $0.numbers(of: 4) != nil }
        let mirror = second.mirror
        try require(mirror.violations == [], "\(mirror.violations)")
        let numbers = mirror.numbers(of: 4) ?? [:]
        try require(numbers["d3"] == 33 && numbers["new"] == 1, "\(numbers)")
        // A backend may leave it to the client to find out what is gone.
        try require(
            numbers["d5"] == nil || mirror.targets[4]?.isMismatched == true, "\(numbers)")
        try require(mirror.heard.count < 10 || mirror.heard.contains("reset 4"), "\(mirror.heard)")
        second.close()
    }

    func demandIsKept() async throws {
        for number in 0..<10 { try await commit(set("d\(number)", Int64(number))) }
        let probe = watch(demand: 0)
        probe.send(add(2, try query()))
        _ = try await read("d1")
        try require(probe.mirror.heard.count <= 1, "\(probe.mirror.heard)")
        for count in [1, 2, 3] {
            let before = max(probe.mirror.heard.count, 1)
            probe.demand(count)
            await probe.wait { $0.heard.count == before + count }
            _ = try await read("d1")
            try require(probe.mirror.heard.count == before + count, "\(probe.mirror.heard)")
        }
        probe.demand(1_000)
        await probe.wait { $0.numbers(of: 2)?.count == 10 }
        probe.close()
    }

    func aClosedWatchStreamIsSilent() async throws {
        let (probe, other) = (watch(), watch())
        for probe in [probe, other] {
            probe.send(add(2, try query()))
            try await wait(for: [:], in: 2, of: probe)
        }
        probe.close()
        probe.close()
        let heard = probe.mirror.heard
        try await commit(set("x", 1))
        try await wait(for: ["x": 1], in: 2, of: other)
        try require(probe.mirror.heard == heard, "\(probe.mirror.heard)")
        other.close()
    }
}

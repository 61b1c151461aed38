import Larder
import LarderGRPC
import LarderModel
import LarderNetworkTestSupport
import LarderTestSupport

extension WireWorld {
    /// Everything works from now on: all that is pending is sent.
    func heal() async throws {
        note("the world heals")
        if !server.isRunning { try await server.start() }
        for client in clients {
            await client.proxy.heal()
            // Else a connection that leads nowhere is noticed by the client itself.
            if random.oneIn(2) { await client.proxy.cut() }
            try await client.db.enableNetwork()
            client.db.reconnect()
        }
        for client in clients {
            let db = client.db
            try await within("client \(client.number) sends what is pending") {
                try await db.waitForPendingWrites()
            }
        }
        try await endTasks()
    }

    /// The server has what was acknowledged, and all have what it has.
    func checkAgreement() async throws {
        note("what the server has is read")
        let truth = try await truth()
        try await checkWrites(truth)
        for client in clients {
            for group in ["c", "log", "t"] {
                try client.listen(
                    to: client.db.collectionGroup(group), includesMetadata: true)
            }
            for listener in client.listeners {
                try await within("\(listener.name) agrees") {
                    await listener.waitForAgreement(with: truth)
                }
            }
        }
    }

    /// The documents of the server.
    private func truth() async throws -> [DocumentPath: Record] {
        // A connection of its own knows no old token and no server that has ended.
        let cloud = try server.connection(project: Self.project)
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = Self.project
        configuration.backend = cloud.connection
        // However slow the machine is.
        configuration.serverWait = .atMost(.seconds(300))
        let db = try Firestore(configuration: configuration)
        var truth: [DocumentPath: Record] = [:]
        for group in ["c", "log", "t"] {
            let documents = try await db.collectionGroup(group).getDocuments(source: .server)
            for document in documents.documents.compactMap(\.document) {
                truth[document.path] = document.record
            }
        }
        try await db.terminate()
        await cloud.close()
        return truth
    }

    private func checkWrites(_ truth: [DocumentPath: Record]) async throws {
        var refused: Set<DocumentPath> = []
        for client in clients {
            for letter in try await client.db.deadLetters() {
                refused.formUnion(try letter.documents.map { try DocumentPath($0.path) })
            }
        }
        let outliving = Set(clients.filter(\.isPersistent).map(\.number))
        for write in writes {
            let path = try DocumentPath("log/w\(write.number)")
            if write.isAcknowledged {
                ledger.expect(truth[path] != nil, "write \(write.number) is lost")
            } else if write.isQueued, outliving.contains(write.client) {
                ledger.expect(
                    truth[path] != nil || refused.contains(path),
                    "write \(write.number) is neither made nor refused")
            }
        }
        try checkLastWriters(truth)
        let counted = try writes.count {
            try $0.counts && truth[DocumentPath("log/w\($0.number)")] != nil
        }
        let sum = truth[try DocumentPath("t/sum")]?.fields["n"] ?? 0
        ledger.expect(
            sum == .integer(Int64(counted)), "\(counted) increments were made, with the sum \(sum)")
        if case .integer(let count)? = truth[try DocumentPath("t/counter")]?.fields["n"] {
            let done = writes.count { !$0.isQueued && $0.isAcknowledged }
            ledger.expect(count >= done, "\(done) transactions have counted to \(count)")
        }
    }

    /// A document ends with the last write of a client, not with an earlier one of the same.
    private func checkLastWriters(_ truth: [DocumentPath: Record]) throws {
        let byNumber = Dictionary(
            writes.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        for id in Set(writes.flatMap(\.changed)) {
            guard case .integer(let number)? = truth[try DocumentPath("c/\(id)")]?.fields["w"],
                let last = byNumber[Int(number)]
            else { continue }
            let later = writes.first {
                $0.client == last.client && $0.number > last.number && $0.isAcknowledged
                    && $0.changed.contains(id)
            }
            ledger.expect(
                later == nil, "\(id) is as of write \(number), not as of \(later?.number ?? 0)")
        }
    }

    /// Everybody goes, and the server is left with nothing.
    func end() async throws {
        for client in clients {
            note("client \(client.number) ends")
            try await client.end()
        }
        note("the others end")
        await witness.close()
        for client in clients {
            // The server may not have heard of the end of connections that lead nowhere.
            await client.proxy.heal()
            await client.proxy.cut()
        }
        let server = server
        try await within("the server comes to rest") { try await server.rest() }
        for client in clients { await client.proxy.close() }
        try await server.stop()
    }

    /// Waits for something that is to happen soon.
    ///
    /// - Throws: what was broken, where it has not happened in four minutes.
    func within(
        _ what: String, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        do {
            try await withDeadline(.seconds(240), body)
        } catch is DeadlineExceeded {
            throw BrokenPromises(self, ["it does not come to pass that \(what)"])
        }
    }
}

extension WireListener {
    /// Waits until it was told what the server has.
    func waitForAgreement(with truth: [DocumentPath: Record]) async {
        let expected = expected(among: truth)
        await wait { last in
            last.documents == expected
                && (!includesMetadata || !last.isFromCache && !last.hasPendingWrites)
        }
    }
}

import Dispatch
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeWebSocket
import LarderSharedTestSupport
import Testing

/// Databases that synchronise through sockets with a backend behind a server.
@Suite(.timeLimit(.minutes(10))) struct RealtimeRemoteConnectorTests {
    private func database(
        _ url: String, environment: [String: String] = [:],
        _ change: (inout DatabaseConfiguration) -> Void = { _ in }
    ) throws -> Database {
        var configuration = DatabaseConfiguration.inMemory
        configuration.url = url
        configuration.connector = .webSocket(WebSocketConfiguration(), environment: environment)
        configuration.callbackQueue = DispatchQueue(label: "test.callbacks")
        change(&configuration)
        return try Database(configuration: configuration)
    }

    /// The values of a location, as text, each time that they change.
    private func values(_ reference: DatabaseReference) -> Awaited<[String]> {
        let values = Awaited<[String]>([])
        reference.observe(.value) { snapshot in
            let text = "\(snapshot.value ?? "nothing")"
            values.change { $0.append(text) }
        }
        return values
    }

    @Test func `two databases see each other's writes, transactions and ends`() async throws {
        let backend = RealtimeBackend()
        let server = try await LoopbackServer { backend.remote($0) }
        let url = "http://127.0.0.1:\(server.port)?ns=demo"
        let (writer, reader) = (try database(url), try database(url))
        let seen = values(reader.reference(withPath: "room/a"))
        await seen.wait { $0.last?.contains("null") == true }

        let room = writer.reference(withPath: "room")
        _ = try await room.child("a").setValue(1)
        await seen.wait { $0.last == "1" }
        _ = try await room.updateChildValues(["a": 2, "b": "x"])
        await seen.wait { $0.last == "2" }
        #expect(
            backend.tree(of: "demo").child(ChildKey("room")).child(ChildKey("b"))
                == Node(.string("x")))

        let (isCommitted, _) = try await room.child("a").runTransactionBlock { data in
            data.value = ((data.value as? Int) ?? 0) + 40
            return .success(withValue: data)
        }
        #expect(isCommitted)
        await seen.wait { $0.last == "42" }

        _ = try await room.child("a").onDisconnectSetValue("gone")
        writer.goOffline()
        await seen.wait { $0.last == "gone" }
        writer.goOnline()
        _ = try await room.child("a").setValue("back")
        await seen.wait { $0.last == "back" }
        #expect(server.targets.withLock { $0 }.count == 3)
        #expect(server.targets.withLock { $0.last }?.contains("&ls=") == true)

        let large = String(repeating: "😀é", count: 30_000)
        _ = try await room.child("a").setValue(large)
        await seen.wait { $0.last == large }
        try await writer.close()
        try await reader.close()
        try await backend.close()
        try await server.close()
    }

    @Test func `a transaction whose answer is lost with its connection is committed once`()
        async throws
    {
        let backend = RealtimeBackend()
        let server = try await LoopbackServer { backend.remote($0) }
        let url = "http://127.0.0.1:\(server.port)?ns=demo"
        let (database, other) = (try database(url), try database(url))
        let counter = database.reference(withPath: "n")
        let seen = values(counter)
        await seen.wait { $0.last?.contains("null") == true }
        _ = try await other.reference(withPath: "n").setValue(1)
        await seen.wait { $0.last == "1" }

        backend.holdResponses(true)
        let outcomes = Awaited<[String]>([])
        counter.runTransactionBlock(
            { data in
                data.value = ((data.value as? Int) ?? 0) + 1
                return .success(withValue: data)
            },
            andCompletionBlock: { error, isCommitted, snapshot in
                let text = "\(isCommitted) \(snapshot?.value ?? "nothing") \(error == nil)"
                outcomes.change { $0.append(text) }
            })
        let tree = { backend.tree(of: "demo").child(ChildKey("n")) }
        while tree() != Node(.integer(2)) { await Task.yield() }
        #expect(outcomes.value.isEmpty)
        backend.dropConnections(LarderError(realtime: .unavailable, "cut"))
        backend.holdResponses(false)
        // The data has changed by the time the transaction arrives again.
        _ = try await other.reference(withPath: "n").setValue(7)
        await outcomes.wait { !$0.isEmpty }
        await seen.wait { $0.last == "7" }
        #expect(outcomes.value == ["true 2 true"] && tree() == Node(.integer(7)))
        try await database.close()
        try await other.close()
        #expect(outcomes.value.count == 1)
        try await backend.close()
        try await server.close()
    }

    @Test func `refusals of the rules and of tokens arrive`() async throws {
        var configuration = RealtimeBackendConfiguration()
        configuration.tokens = {
            $0 == "good" ? .valid(RealtimeUser(id: "ada")) : .invalid(reason: "unknown")
        }
        configuration.rules = { $0.user == nil ? .deny : .allow }
        let backend = RealtimeBackend(configuration)
        let server = try await LoopbackServer { backend.remote($0) }
        let url = "http://127.0.0.1:\(server.port)?ns=demo"
        let anonymous = try database(url)
        await #expect(throws: DatabaseError.self) {
            try await anonymous.reference(withPath: "a").setValue(1)
        }
        let tokens = Box(["bad", "good"])
        let signedIn = try database(url) {
            $0.tokenProvider = { _ in tokens.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } }
        }
        _ = try await signedIn.reference(withPath: "a").setValue(1)
        try await anonymous.close()
        try await signedIn.close()
        try await backend.close()
        try await server.close()
    }

    @Test func `an emulator in the settings or the environment replaces the service`() async throws
    {
        let backend = RealtimeBackend()
        let server = try await LoopbackServer { backend.remote($0) }
        let url = "https://game-default-rtdb.firebaseio.com"
        let byEnvironment = try database(
            url, environment: ["FIREBASE_DATABASE_EMULATOR_HOST": "127.0.0.1:\(server.port)"])
        _ = try await byEnvironment.reference(withPath: "a").setValue(1)
        #expect(server.targets.withLock { $0 } == ["/.ws?v=5&ns=game-default-rtdb"])
        // A plain server that a URL names is used as it is.
        let byURL = try database(
            "http://127.0.0.1:\(server.port)?ns=other",
            environment: ["FIREBASE_DATABASE_EMULATOR_HOST": "127.0.0.1:1"])
        _ = try await byURL.reference(withPath: "a").setValue(2)
        #expect(backend.tree(of: "other").child(ChildKey("a")) == Node(.integer(2)))
        try await byEnvironment.close()
        try await byURL.close()
        try await backend.close()
        try await server.close()
    }

    @Test func `a database whose configuration is invalid does not open`() throws {
        #expect(throws: DatabaseError.self) {
            try database("http://a b?ns=x")
        }
    }
}

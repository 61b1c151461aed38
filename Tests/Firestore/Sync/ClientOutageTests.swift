import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("The client: a backend that does not answer")
struct ClientOutageTests {
    private let scheduler = ManualScheduler()

    /// A client on the test's thread and clock.
    private func client(
        _ remote: any Remote, _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = ClientConfiguration(
            storage: .inMemory(), databaseID: DatabaseID(project: "test"))
        configuration.remote = remote
        configuration.scheduler = scheduler
        change(&configuration)
        return try Client(configuration)
    }

    private func end(_ client: Client) {
        client.terminate { _ in }
        scheduler.drain()
    }

    private func pass(_ time: Duration) {
        scheduler.clock.advance(by: time)
        scheduler.fireDue()
    }

    /// What a listener has heard: whether each snapshot was from the cache.
    private final class Heard: Sendable {
        let isFromCache = Mutex<[Bool]>([])
        let registration = Mutex<ClientRegistration?>(nil)
    }

    private func listen(_ client: Client, _ collection: String) throws -> Heard {
        let heard = Heard()
        let options = ListenOptions(includeMetadataChanges: true, waitForSyncWhenOnline: true)
        let registration = client.listen(to: try .all(collection), options: options) { result in
            guard let snapshot = try? result.get() else { return }
            heard.isFromCache.withLock { $0.append(snapshot.isFromCache) }
        }
        heard.registration.withLock { $0 = registration }
        scheduler.drain()
        return heard
    }

    /// A backend that ends every write stream as soon as it is opened.
    private final class Refusing: UnansweringRemote {
        let error: LarderError

        init(_ error: LarderError) {
            self.error = error
        }

        private final class Stream: WatchStream, WriteStream {
            func send(_ request: WatchRequest) {}
            func send(_ request: WriteRequest) {}
            func demand(_ count: Int) {}
            func close() {}
        }

        func openWatchStream(
            as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
        ) -> any WatchStream {
            Stream()
        }

        func openWriteStream(
            as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
        ) -> any WriteStream {
            handler(.closed(error))
            return Stream()
        }
    }

    /// A backend that counts its calls and answers none.
    private final class Silent: UnansweringRemote {
        let completions = Mutex<[@Sendable (Result<[DocumentReading], LarderError>) -> Void]>([])

        func openWatchStream(
            as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
        ) -> any WatchStream {
            SpokenRemote().openWatchStream(as: credentials) { _ in }
        }

        func read(
            _ paths: [DocumentPath], as credentials: Credentials,
            _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
        ) {
            completions.withLock { $0.append(completion) }
        }
    }

    @Test("A backend that answered and fell silent is waited for ten seconds, and loses nothing")
    func fallsSilent() throws {
        let remote = SpokenRemote()
        let client = try client(remote)
        let old = try listen(client, "old")
        let first = try #require(remote.askedTargets.last)
        remote.watch([first])
        remote.finish([first])
        remote.snapshot(at: 1)
        scheduler.drain()
        #expect(old.isFromCache.withLock { $0 } == [false])

        pass(.seconds(100))
        let new = try listen(client, "new")
        pass(.milliseconds(9_999))
        #expect(new.isFromCache.withLock { $0.isEmpty })
        #expect(client.networkState.state == .online)
        pass(.milliseconds(1))
        #expect(new.isFromCache.withLock { $0 } == [true])
        #expect(client.networkState.state == .offline && client.networkState.reason == .timedOut)
        // Nothing is known to be wrong with what is current, and it would not be told again.
        #expect(old.isFromCache.withLock { $0 } == [false])
        // Meanwhile no caller waits.
        let third = try listen(client, "third")
        #expect(third.isFromCache.withLock { $0 } == [true])

        let asked = remote.askedTargets.suffix(2)
        remote.watch(Array(asked))
        remote.finish(Array(asked))
        remote.snapshot(at: 2)
        scheduler.drain()
        #expect(client.networkState.state == .online)
        #expect(new.isFromCache.withLock { $0 } == [true, false])
        #expect(third.isFromCache.withLock { $0 } == [true, false])
        #expect(old.isFromCache.withLock { $0 } == [false])
        end(client)
    }

    @Test("A backend that has answered is given its own time, and a second at least")
    func patience() throws {
        for (timeout, wait) in [(Duration.seconds(2), 2_000), (.milliseconds(50), 1_000)] {
            let remote = SpokenRemote()
            let client = try client(remote) {
                $0.answerTimeout = timeout
                $0.remembersOutages = true
            }
            _ = try listen(client, "old")
            let first = try #require(remote.askedTargets.last)
            remote.watch([first])
            remote.finish([first])
            remote.snapshot(at: 1)
            scheduler.drain()
            let new = try listen(client, "new")
            pass(.milliseconds(wait - 1))
            #expect(new.isFromCache.withLock { $0.isEmpty })
            pass(.milliseconds(1))
            #expect(new.isFromCache.withLock { $0 } == [true])
            end(client)
        }
    }

    @Test("A read that is not answered fails in time, and its late answer is dropped")
    func unansweredRead() throws {
        let remote = Silent()
        let client = try client(remote)
        let results = Mutex<[LarderError?]>([])
        client.readAtServer([try DocumentPath("c/x")]) { result in
            if case .failure(let error) = result { results.withLock { $0.append(error) } }
        }
        client.commitAtServer([]) { result in
            if case .failure(let error) = result { results.withLock { $0.append(error) } }
        }
        scheduler.drain()
        pass(.milliseconds(9_999))
        #expect(results.withLock { $0.isEmpty })
        pass(.milliseconds(1))
        let errors = results.withLock { $0 }
        #expect(errors.count == 2)
        #expect(errors.allSatisfy { $0?.kind == .unavailable && $0?.cause is NoAnswer })
        for completion in remote.completions.withLock({ $0 }) { completion(.success([])) }
        scheduler.drain()
        #expect(results.withLock { $0.count } == 2)
        end(client)
    }

    @Test("A read that is answered, or ends with the client, leaves no timer behind")
    func timers() throws {
        let remote = Silent()
        let client = try client(remote)
        for _ in 0..<2 { client.readAtServer([try DocumentPath("c/x")]) { _ in } }
        scheduler.drain()
        #expect(scheduler.timers.filter { $0.timer == .callTimeout }.count == 2)
        remote.completions.withLock { $0[0] }(.success([]))
        scheduler.drain()
        #expect(scheduler.timers.filter { $0.timer == .callTimeout }.count == 1)
        end(client)
        #expect(!scheduler.timers.contains { $0.timer == .callTimeout })
    }

    @Test("Writes that cannot be sent show why, how often it was tried, and one line in the log")
    func unsentWrites() throws {
        let log = Mutex<[String]>([])
        let client = try client(Refusing(LarderError(.unauthenticated, "the token is wrong"))) {
            $0.storage.log = { level, message in
                if level == .warning { log.withLock { $0.append(message) } }
            }
            // Nothing was answered to the write itself, so that it is never given up.
            $0.maxWriteAttempts = 2
        }
        client.write([try .set("c/x", 1)], committed: { _ in }, acknowledged: { _ in })
        scheduler.drain()
        #expect(client.networkState.state == .offline)
        let reason = client.networkState.reason
        guard case .streamFailed(let error) = reason, error.kind == .unauthenticated else {
            Issue.record("\(reason)")
            return
        }
        for _ in 0..<20 { pass(.seconds(60)) }
        let batches = Mutex<[MutationBatch]>([])
        let registration = client.observePendingWrites { result in
            if let pending = try? result.get() { batches.withLock { $0 = pending } }
        }
        scheduler.drain()
        let batch = try #require(batches.withLock { $0.first })
        #expect(batch.attemptCount >= 10 && batch.lastAttempt != nil)
        #expect(batch.lastError == "the token is wrong")
        #expect(log.withLock { $0.count } == 1, "\(log.withLock { $0 })")
        #expect(log.withLock { $0.first?.contains("the token is wrong") } == true)
        registration.remove()
        end(client)
    }
}

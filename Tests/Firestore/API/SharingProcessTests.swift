import Foundation
import LarderModel
import LarderQuery
import LarderStorage
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Processes that share a store")
struct SharingProcessTests {
    private let directory: TemporaryDirectory
    private let storage: StoreConfiguration

    init() throws {
        directory = try TemporaryDirectory()
        var storage = StoreConfiguration(directory: directory.file("store"))
        storage.access = .shared
        self.storage = storage
    }

    @Test(
        "Each hears the other at once, and the network of one that is killed passes on within 5 s")
    func killedOwner() throws {
        let child = try SharingProcess(storage)
        // It has come first, and asks the backend for what it listens to.
        try child.read(until: "network")

        let (asked, heard) = (Signal(), Heard())
        var configuration = ClientConfiguration(
            storage: storage, databaseID: DatabaseID(project: "share-test"))
        configuration.remote = SilentRemote { asked.give() }
        let client = try Client(configuration)
        let listener = client.listen(
            to: Query(.collection(try CollectionPath("c"))), options: ListenOptions()
        ) { heard.take($0) }

        child.write("theirs")
        try heard.wait(for: ["theirs"])
        client.write(
            [Mutation(.set(try Record([:])), at: try DocumentPath("c/ours"))],
            committed: { _ in }, acknowledged: { _ in })
        try child.read(until: "heard ours theirs")
        #expect(!asked.isGiven)

        let began = ContinuousClock.now
        child.kill()
        try asked.wait()
        // The lease may have been renewed just before; the rest is for a slow machine.
        #expect(ContinuousClock.now - began < .seconds(7))
        listener.remove()
        try end(client)
    }

    @Test(
        "A store that is shared is not opened by a process that does not share, nor the other way")
    func exclusion() throws {
        let child = try SharingProcess(storage)
        try child.read(until: "network")
        var alone = storage
        alone.access = .readWrite
        let configuration = ClientConfiguration(
            storage: alone, databaseID: DatabaseID(project: "share-test"))
        let error = #expect(throws: LarderError.self) { try Client(configuration) }
        #expect(error?.kind == .failedPrecondition)
        child.kill()
        let client = try Client(configuration)
        let second = #expect(throws: LarderError.self) {
            var shared = ClientConfiguration(
                storage: storage, databaseID: DatabaseID(project: "share-test"))
            shared.storage.access = .shared
            _ = try Client(shared)
        }
        #expect(second?.kind == .failedPrecondition)
        try end(client)
    }

    private func end(_ client: Client) throws {
        let ended = Signal()
        client.terminate { _ in ended.give() }
        try ended.wait()
    }
}

/// A child that shares a store.
private final class SharingProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var text = ""

    init(_ storage: StoreConfiguration) throws {
        guard case .directory(let directory) = storage.location else { return }
        process.executableURL = Bundle.main.executableURL?.deletingLastPathComponent()
            .appendingPathComponent("LarderTestChild")
        process.arguments = ["share", directory]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { kill() }

    /// Lets it write a document.
    func write(_ id: String) {
        input.fileHandleForWriting.write(Data((id + "\n").utf8))
    }

    /// Reads what it prints until a line comes.
    func read(until line: String) throws {
        while !lines.contains(line) {
            let data = output.fileHandleForReading.availableData
            try #require(!data.isEmpty, "it has ended after: \(text)")
            text += String(decoding: data, as: UTF8.self)
        }
    }

    private var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// Ends it in the middle of whatever it does.
    func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// Something that happens once, and that a thread waits for.
private final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let given = Mutex(false)

    var isGiven: Bool { given.withLock { $0 } }

    func give() {
        given.withLock { $0 = true }
        semaphore.signal()
    }

    /// Waits for it, but not for ever.
    func wait() throws {
        try #require(semaphore.wait(timeout: .now() + 30) == .success, "it does not happen")
    }
}

/// What a listener has heard last.
private final class Heard: Sendable {
    private let ids = Mutex<[String]>([])
    private let semaphore = DispatchSemaphore(value: 0)

    func take(_ result: Result<ViewSnapshot, LarderError>) {
        guard case .success(let snapshot) = result else { return }
        ids.withLock { $0 = snapshot.documents.map(\.path.id) }
        semaphore.signal()
    }

    /// Waits until the result is this.
    func wait(for expected: [String]) throws {
        while ids.withLock({ $0 }) != expected {
            let last = ids.withLock { $0 }
            try #require(semaphore.wait(timeout: .now() + 30) == .success, "heard \(last)")
        }
    }
}

import LarderDocumentStore
import LarderModel
import LarderSync
import LarderTestSupport

/// Where a test's clients keep their documents.
enum SpecStorage: String, Sendable, CaseIterable {
    case memory, disk

    /// Whether documents of a test go as soon as nothing needs them: never those of a store that
    /// is shared.
    func collectsEagerly(in test: SpecTest) -> Bool {
        self == .memory && !test.tags.contains(.multiClient) && test.configuration.collectsEagerly
    }

    /// What it is for one test, for a report.
    func title(for test: SpecTest) -> String {
        switch self {
        case .disk: "disk"
        case .memory: collectsEagerly(in: test) ? "memory, eager" : "memory, LRU"
        }
    }
}

/// What the clients of a test share.
final class SpecWorld {
    let test: SpecTest
    let kind: SpecStorage
    let trace: SpecTrace
    let clock = ManualClock()
    let signals = SignalHub()
    /// Writes of all clients that were not answered, oldest first.
    var outstandingWrites: [[Mutation]] = []
    private let directory: TemporaryDirectory?
    private var openStore: Store?

    init(_ test: SpecTest, _ kind: SpecStorage, _ trace: SpecTrace) throws {
        self.test = test
        self.kind = kind
        self.trace = trace
        directory = kind == .disk ? try TemporaryDirectory() : nil
    }

    deinit { try? openStore?.close() }

    /// Whether several clients have one store.
    var isShared: Bool { test.tags.contains(.multiClient) }

    /// Whether documents go as soon as nothing needs them.
    var collectsEagerly: Bool { kind.collectsEagerly(in: test) }

    /// How clients open the store.
    var storage: StoreConfiguration {
        var storage =
            directory.map { StoreConfiguration(directory: $0.file("store")) } ?? .inMemory()
        storage.durability = .lastCommitAtRisk
        storage.mapBytes = 1 << 30
        return storage
    }

    /// The store of all clients; nil where the only client opens its own.
    func sharedStore() throws -> Store? {
        guard isShared else { return nil }
        let store = try openStore ?? Store(storage)
        openStore = store
        return store
    }

    /// Removes the store, even if it is open.
    func clear() throws {
        try openStore?.close()
        openStore = nil
        try Client.clearPersistence(
            ClientConfiguration(storage: storage, databaseID: SpecDatabase.id))
        signals.announce(from: "")
    }
}

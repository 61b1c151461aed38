import Foundation
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

/// A backend's directory, its copy, and clients that have seen what was written after the copy.
struct RestoredWorld {
    /// How the documents are copied and put back.
    enum Way: String, CaseIterable {
        /// A copy of the open store.
        case copied
        /// The files of the open store.
        case openFiles
        /// The files of the closed store, which is opened again before the lost writes.
        case closedFiles
        /// The files of the open store, written into the files of the closed one.
        case inPlace
        /// A file system that is set back: nothing in the directory says so.
        case snapshot
        /// The documents, written to a new store after the lost writes.
        case imported
        /// The documents, written to a new store before the lost writes.
        case importedBefore

        /// Whether tokens are signed with the restored store's key.
        var keepsKey: Bool { self != .imported && self != .importedBefore }
        /// Whether the store finds out by itself.
        var isNoticed: Bool { self != .snapshot && self != .importedBefore }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let way: Way
        /// Whether documents are written between the restore and the clients' return.
        let writes: Bool
        /// Whether the restored backend's clock is an hour behind.
        var isSetBack = false

        var testDescription: String {
            way.rawValue + (writes ? ", writes" : "") + (isSetBack ? ", clock set back" : "")
        }
    }

    static let cases = Way.allCases.flatMap { way in
        [false, true].flatMap { writes in
            [false, true].map { Case(way: way, writes: writes, isSetBack: $0) }
        }
    }

    private let folder: TemporaryDirectory
    let query: Query
    let clock = ManualClock()
    let setBack = ManualClock(at: Timestamp(seconds: 1_700_000_000 - 3_600, nanoseconds: 0))

    init() throws {
        folder = try TemporaryDirectory()
        query = try .test("c")
    }

    var data: String { folder.file("data") }
    var kept: String { folder.file("kept") }

    func open(
        _ clock: ManualClock? = nil, at directory: String? = nil
    ) throws -> TestBackend {
        let clock = clock ?? self.clock
        clock.advance(by: .seconds(1))
        return try TestBackend(
            directory: directory ?? data, clock: clock, identity: .random(in: 0...UInt64.max))
    }

    func set(_ id: String, _ number: Int64) throws -> Mutation {
        try .set("c/\(id)", ["n": .integer(number)])
    }

    func commit(_ backend: TestBackend, _ mutations: Mutation...) throws {
        clock.advance(by: .seconds(1))
        setBack.advance(by: .seconds(1))
        try backend.commit(mutations)
    }

    /// All documents of the backend, without its floors.
    func documents(_ backend: TestBackend) throws -> [String: MapValue] {
        var documents: [String: MapValue] = [:]
        try backend.backend.forEachDocument { path, fields in documents[path.id] = fields }
        return documents
    }

    private func copyFiles(_ names: [String], to directory: String) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for name in names {
            try files.copyItem(atPath: "\(data)/\(name)", toPath: "\(directory)/\(name)")
        }
    }

    /// Ten documents, their copy, and changes that are lost.
    ///
    /// - Parameter clients: see everything.
    func lose(_ way: Way, _ clients: [CachingClient]) throws {
        var backend = try open()
        for number in 0..<10 { try commit(backend, set("d\(number)", Int64(number))) }
        for client in clients { client.connect(to: backend) }
        switch way {
        case .copied, .snapshot: try backend.backend.core.store.copy(to: kept)
        case .openFiles, .inPlace: try copyFiles(["data.mdb", "data.wal"], to: kept)
        case .closedFiles:
            try backend.close()
            try FileManager.default.copyItem(atPath: data, toPath: kept)
            backend = try open()
            for client in clients { client.connect(to: backend) }
        case .imported: break
        case .importedBefore: try importDocuments(into: open(at: kept)).close()
        }
        try commit(backend, set("d1", 100))
        try commit(backend, .delete("c/d2"))
        try commit(backend, set("d10", 10))
        try commit(backend, .delete("c/d3"), set("d4", 400))
        for client in clients {
            client.settle(backend)
            #expect(client.view(1).keys.contains("d10") && !client.isFromCache(1))
        }
        try backend.close()
    }

    private func importDocuments(into backend: TestBackend) throws -> TestBackend {
        try backend.backend.beginImport()
        try backend.commit(try (0..<10).map { try set("d\($0)", Int64($0)) })
        try backend.backend.endImport()
        return backend
    }

    func restore(_ test: Case) throws -> TestBackend {
        let clock = test.isSetBack ? setBack : clock
        let files = FileManager.default
        switch test.way {
        case .inPlace:
            for name in ["data.mdb", "data.wal"] {
                let content = try Data(contentsOf: URL(fileURLWithPath: "\(kept)/\(name)"))
                let file = try FileHandle(
                    forWritingTo: URL(fileURLWithPath: "\(data)/\(name)"))
                try file.truncate(atOffset: 0)
                try file.write(contentsOf: content)
                try file.close()
            }
        case .imported:
            try files.removeItem(atPath: data)
            return try finish(test, importDocuments(into: open(clock)))
        case .snapshot:
            try files.removeItem(atPath: data)
            try files.moveItem(atPath: kept, toPath: data)
            // As if the lock file were the one of the copied state.
            let store = try Store(StoreConfiguration(directory: data))
            try store.write { transaction throws(LarderError) in
                try transaction.markPlace(of: store)
            }
            try store.close()
        default:
            try files.removeItem(atPath: data)
            try files.moveItem(atPath: kept, toPath: data)
        }
        return try finish(test, try open(clock))
    }

    private func finish(_ test: Case, _ backend: TestBackend) throws -> TestBackend {
        if test.writes {
            try commit(backend, set("d5", 500))
            try commit(backend, .delete("c/d6"), set("d11", 11))
        }
        return backend
    }

    func expectAgreement(
        _ client: CachingClient, _ backend: TestBackend,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(client.refusals.isEmpty, sourceLocation: location)
        #expect(client.view(1) == (try documents(backend)), sourceLocation: location)
        #expect(!client.isFromCache(1), sourceLocation: location)
    }
}

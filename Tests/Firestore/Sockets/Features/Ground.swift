import Foundation
import Larder
import LarderGRPC
import LarderModel
import LarderNetworkTestSupport
import LarderRemote
import LarderTestSupport
import Testing

/// What a test of a feature stands on: an empty project at a server, and a proxy that can take the
/// network away.
final class Ground: Sendable {
    let proxy: Proxy
    private let server: WireServer?
    private let port: Int
    let project = "wire-\(UInt64.random(in: 0 ... .max))"

    private init(_ server: WireServer?, port: Int) async throws {
        self.server = server
        self.port = port
        proxy = try await Proxy.started(port: port)
    }

    /// Prepares a ground for a test, and cleans up behind it.
    static func at(_ site: Site, _ body: (Ground) async throws -> Void) async throws {
        let ground: Ground
        switch site {
        case .here:
            let server = try await WireServer.started()
            ground = try await Ground(server, port: server.port)
        case .outside(let host): ground = try await Ground(nil, port: Site.port(host))
        }
        try await body(ground)
        await ground.proxy.close()
        try await ground.server?.stop()
    }

    /// A client in memory, or with a store.
    ///
    /// - Parameter isDirect: whether it goes round the proxy.
    func client(
        _ directory: TemporaryDirectory? = nil, isDirect: Bool = false
    ) throws -> Client {
        let cloud = try connection(isDirect: isDirect)
        var configuration =
            directory.map { FirestoreConfiguration(directory: $0.file("store")) } ?? .inMemory
        configuration.project = project
        configuration.backend = cloud.connection
        // However slow the machine is.
        configuration.serverWait = .atMost(.seconds(300))
        configuration.callbackQueue = DispatchQueue(label: "client")
        return Client(cloud: cloud, db: try Firestore(configuration: configuration))
    }

    private func connection(isDirect: Bool) throws -> CloudFirestore {
        let port = isDirect ? port : proxy.port
        if let server { return try server.connection(port: port, project: project) }
        var configuration = CloudFirestoreConfiguration(project: project, environment: [:])
        configuration.useEmulator(withHost: "127.0.0.1", port: port)
        return try CloudFirestore(configuration)
    }

    /// A database with its connection.
    struct Client: Sendable {
        let cloud: CloudFirestore
        let db: Firestore

        func end() async throws {
            try await db.terminate()
            await cloud.close()
        }
    }

    /// Takes the network away from all that do not go round the proxy.
    func goOffline() async {
        await proxy.refuse()
        await proxy.cut()
    }

    /// Gives it back.
    func comeBack(_ client: Client) async {
        await proxy.heal()
        client.db.reconnect()
    }
}

extension Firestore {
    /// Makes documents of a collection, each with a number.
    func put(_ numbers: [String: Int], in collection: String = "c") async throws {
        let batch = batch()
        for (id, number) in numbers {
            batch.setData(["n": number], forDocument: document("\(collection)/\(id)"))
        }
        try await batch.commit()
    }
}

extension QuerySnapshot {
    /// The ids of the documents, in order.
    var ids: [String] { documents.map(\.documentID) }

    /// Whether the server has confirmed it, and nothing is pending.
    var isSettled: Bool { !metadata.isFromCache && !metadata.hasPendingWrites }
}

extension Query {
    /// All events of a listener, metadata included.
    var everything: SnapshotSequence<QuerySnapshot>.Iterator {
        snapshots(includeMetadataChanges: true).makeAsyncIterator()
    }
}

extension SnapshotSequence<QuerySnapshot>.Iterator {
    /// The next snapshot that is as a condition says.
    mutating func next(
        where condition: (QuerySnapshot) -> Bool
    ) async throws -> QuerySnapshot {
        while let snapshot = try await next() {
            if condition(snapshot) { return snapshot }
        }
        throw CancellationError()
    }

    /// The next snapshot that the server has confirmed, with documents of these ids.
    @discardableResult
    mutating func settled(_ ids: [String]) async throws -> QuerySnapshot {
        try await next { $0.isSettled && $0.ids == ids }
    }
}

/// The code of the error that a closure throws; nil for none.
func code(_ body: () async throws -> Void) async -> LarderError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return LarderError.Code(rawValue: (error as NSError).code)
    }
}

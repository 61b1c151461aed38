import Larder
import LarderBackend
import LarderModel

/// The code in the article TestingApplications.
enum TestingSnippets {
    // snippet: clients
    /// A backend in memory and its clients, each as on a machine of its own.
    struct Café {
        let backend: Backend

        init(rules: @escaping Backend.Rules = { _ in .allow }) throws {
            var configuration = BackendConfiguration(project: "test")
            configuration.rules = rules
            backend = try Backend(configuration)
        }

        func client() throws -> Firestore {
            var configuration = FirestoreConfiguration.inMemory
            configuration.project = "test"
            configuration.backend = backend.connection
            return try Firestore(configuration: configuration)
        }
    }
    // end

    static func online(_ café: Café) async throws -> String? {
        // snippet: online
        let till = try café.client()
        let kitchen = try café.client()
        try await till.document("orders/1").enqueueSetData(["item": "tea"]).acknowledged()
        let order = try await kitchen.document("orders/1").getDocument(source: .server)
        let item = order.get("item") as? String
        // end
        return item
    }

    static func listen(_ kitchen: Firestore) async throws -> Int {
        // snippet: until
        for try await snapshot in kitchen.collection("orders").snapshots {
            if !snapshot.metadata.isFromCache { return snapshot.count }
        }
        // end
        return 0
    }

    static func inspect(
        _ café: Café
    ) async throws -> (item: Value?, counts: [Int]) {
        // snippet: backend-documents
        let path = try DocumentPath("orders/1")
        let item = try café.backend.document(at: path)?.fields["item"]
        let count = try café.backend.documentCount(in: path.parent)
        let total = try café.backend.documentCount()
        try await café.backend.deleteAllDocuments()
        // end
        return (item, [count, total, try café.backend.documentCount()])
    }

    static func offline(_ till: Firestore) async throws -> (waiting: Int, after: Int) {
        // snippet: offline
        try await till.disableNetwork()
        try await till.document("orders/2").enqueueSetData(["item": "cake"]).committedLocally()
        let waiting = try await till.pendingWrites().count

        try await till.enableNetwork()
        try await till.waitForPendingWrites()
        let after = try await till.pendingWrites().count
        // end
        return (waiting, after)
    }

    static func refused() async throws -> [String] {
        // snippet: refused
        let café = try Café { request in
            request.userID.isEmpty ? .deny(reason: "nobody is signed in") : .allow
        }
        let till = try café.client()
        do {
            try await till.document("orders/3").enqueueSetData(["item": "pie"]).acknowledged()
        } catch {
            // error.kind is .permissionDenied.
            return try await till.deadLetters().map(\.error.message)
        }
        // end
        return []
    }

    static func restart(_ directory: String) async throws -> Int {
        // snippet: restart
        let configuration = FirestoreConfiguration(directory: directory)
        let before = try Firestore(configuration: configuration)
        try await before.document("orders/4").enqueueSetData(["item": "tea"]).committedLocally()
        try await before.terminate()

        let after = try Firestore(configuration: configuration)
        let count = try await after.pendingWrites().count
        try await after.terminate()
        // end
        return count
    }
}

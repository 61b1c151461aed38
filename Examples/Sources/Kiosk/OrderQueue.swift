import Larder
import LarderGRPC

/// The orders of this till: documents that are saved here first, and sent when there is a network.
struct OrderQueue {
    let db: Firestore

    init(directory: String, server: ServerAddress) throws {
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = "cafe"
        configuration.connector = .cloudFirestore {
            $0.useEmulator(withHost: server.host, port: server.port)
        }
        db = try Firestore(configuration: configuration)
    }

    /// Saves an order, and says when it is safe here and when the server has it.
    func add(_ item: String, count: Int, till: String) async throws {
        let (order, write) = db.collection("orders").enqueueAddDocument(data: [
            "item": item, "count": count, "isServed": false, "till": till,
            "ordered": FieldValue.serverTimestamp(),
        ])
        try await write.committedLocally()
        show("saved \(count) \(item)")
        Task {
            do {
                try await write.acknowledged()
                show("sent \(order.documentID)")
            } catch let error as LarderError where error.kind == .cancelled {
                // The till was closed first; the order is sent after the next start.
            } catch {
                show("rejected \(order.documentID): \(error.localizedDescription)")
            }
        }
    }

    /// Shows the orders that this till has taken.
    func list() async throws {
        let orders = try await db.collection("orders").order(by: "ordered")
            .getDocuments(source: .cache)
        for order in orders.documents {
            let state = order.metadata.hasPendingWrites ? "waiting" : "sent"
            show("\(order.get("count") ?? "?") \(order.get("item") ?? "?"), \(state)")
        }
        show("\(orders.count) orders")
    }

    /// Shows how many orders wait to be sent.
    func showPending() async throws {
        show("\(try await db.pendingWrites().count) pending, \(db.networkState)")
    }
}

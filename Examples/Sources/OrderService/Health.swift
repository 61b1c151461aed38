import Hummingbird
import Larder

/// The state of the service for a load balancer: an answer means that the store can be read.
///
/// To be offline is no failure: the service goes on, and catches up later.
struct Health: ResponseEncodable {
    var network: String
    var pendingWrites: Int

    init(of db: Firestore) async throws {
        network = "\(db.networkState.status)"
        pendingWrites = try await db.pendingWrites().count
    }
}

/// The state of the database in the text format of Prometheus.
///
/// A metrics system that the program bootstraps, such as swift-prometheus, also receives what
/// `LarderGRPC` and Hummingbird's `MetricsMiddleware` count.
func metrics(of db: Firestore) throws -> String {
    let usage = try db.cacheUsage()
    let isOnline = db.networkState.status == .online
    let gauges: [(name: String, value: Int64)] = [
        ("orders_online", isOnline ? 1 : 0),
        ("orders_pending_writes", usage.pendingWriteCount),
        ("orders_cached_documents", usage.documentCount),
        ("orders_cache_bytes", usage.totalBytes),
    ]
    return gauges.map { "# TYPE \($0.name) gauge\n\($0.name) \($0.value)\n" }.joined()
}

/// What an engine waits for; each is set at most once at a time.
///
/// The names are those of Firestore's specification tests.
package enum EngineTimer: String, Sendable, Hashable, CaseIterable {
    /// An idle watch stream is closed.
    case watchStreamIdle = "listen_stream_idle"
    /// A watch stream that failed is opened again.
    case watchStreamBackoff = "listen_stream_connection_backoff"
    /// An idle write stream is closed.
    case writeStreamIdle = "write_stream_idle"
    /// A write stream that failed is opened again.
    case writeStreamBackoff = "write_stream_connection_backoff"
    /// A stream that stayed open so long is healthy.
    case watchStreamHealth = "health_check_timeout"
    /// The same of the write stream.
    case writeStreamHealth = "write_health_check_timeout"
    /// A backend that has not answered so long counts as away.
    case onlineState = "online_state_timeout"
    /// The same of the write stream.
    case writeOnlineState = "write_online_state_timeout"
    /// The lease of the network is renewed, or looked at.
    case lease = "client_metadata_refresh"
    /// A call of a transaction fails, since the backend does not answer.
    case callTimeout = "call_timeout"
    /// A transaction is tried again.
    case transactionRetry = "transaction_retry"
    /// Commits of another process are looked for again.
    case following = "following"
    /// What the disk refused is tried again.
    case recovery = "async_queue_retry"
}

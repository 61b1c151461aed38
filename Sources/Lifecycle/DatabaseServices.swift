public import Larder
public import LarderRealtime
public import ServiceLifecycle

#if !Networking
    #error("this product needs the trait Networking of the package larder")
#endif

/// A database in a `ServiceGroup`; see `Firestore.run()`.
extension Firestore: Service {
    /// Waits for the service group's graceful shutdown or the task's cancellation, then terminates
    /// the database as `terminate()` does.
    ///
    /// The database works before this call. Services that use it are listed after it in the group,
    /// since services shut down in reverse order; a connection that several databases share is
    /// listed before them. Writes that are pending then stay in the store, and are sent after the
    /// next start.
    ///
    /// - Throws: errors of closing the store.
    public func run() async throws {
        try? await gracefulShutdown()
        try await terminate()
    }
}

/// A Realtime Database in a `ServiceGroup`; see `Database.run()`.
extension Database: Service {
    /// Waits for the service group's graceful shutdown or the task's cancellation, then closes the
    /// database as `close()` does.
    ///
    /// The database works before this call. Services that use it are listed after it in the group,
    /// since services shut down in reverse order. Writes that are pending then stay in the store,
    /// if there is one, and are sent after the next start.
    ///
    /// - Throws: errors of closing the store.
    public func run() async throws {
        try? await gracefulShutdown()
        try await close()
    }
}

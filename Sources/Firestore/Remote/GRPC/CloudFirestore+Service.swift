public import ServiceLifecycle

extension CloudFirestore: Service {
    /// Stays until the service group shuts down gracefully or this task is cancelled, and closes
    /// the connection then.
    ///
    /// The connection works before this is called, too. Databases that use it belong behind it in
    /// the group, so that they end first.
    public func run() async throws {
        do {
            try await gracefulShutdown()
            await shutDownGracefully()
        } catch {
            await close()
        }
    }
}

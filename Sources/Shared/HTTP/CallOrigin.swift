package import LarderCore

/// The origin of a task's work: the connection, among which the threads of a ``WorkPool`` are
/// shared, and the call.
package struct CallOrigin: Sendable {
    /// The origin of the current task's work; nil for work of the server itself.
    @TaskLocal package static var current: CallOrigin?

    /// The account of the connection's memory, which also identifies the connection.
    package let connection: MemoryAccount
    /// The account of the call's memory.
    package let memory: MemoryAccount

    /// - Parameters:
    ///   - connection: the account of the connection's memory.
    ///   - memory: the account of the call's memory.
    package init(_ connection: MemoryAccount, _ memory: MemoryAccount) {
        self.connection = connection
        self.memory = memory
    }

    /// The connection.
    package var client: WorkPool.Client { ObjectIdentifier(connection) }
}

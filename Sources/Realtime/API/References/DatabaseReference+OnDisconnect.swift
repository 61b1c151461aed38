import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime
import Logging

/// Operations that the server performs when this client's connection ends, cleanly or not.
///
/// They reach the server in the order in which they and other writes are requested, so that what is
/// armed before a write is in effect when the write is. The completion blocks are called when
/// the server has recorded the operation, not when it is performed. The server performs an
/// operation once, and it is not recorded again on the next connection: arm it when
/// `.info/connected` becomes true.
extension DatabaseReference {
    /// Replaces the data of the location when the connection ends.
    public func onDisconnectSetValue(_ value: Any?) {
        arm(nil) { (path) throws(LarderError) in try .setting(value, nil, path) }
    }

    /// Replaces the data of the location when the connection ends.
    ///
    /// - Parameters:
    ///   - value: the data; ``ServerValue``s are computed when the connection ends.
    ///   - block: called on the callback queue when the server has recorded the operation.
    public func onDisconnectSetValue(
        _ value: Any?,
        withCompletionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        arm(block) { (path) throws(LarderError) in try .setting(value, nil, path) }
    }

    /// Replaces the data of the location when the connection ends, and suspends until the server
    /// has recorded that.
    @discardableResult
    public nonisolated(nonsending) func onDisconnectSetValue(
        _ value: Any?
    ) async throws -> DatabaseReference {
        try await armed { (path) throws(LarderError) in try .setting(value, nil, path) }
    }

    /// Replaces the data of the location and its priority when the connection ends.
    public func onDisconnectSetValue(_ value: Any?, andPriority priority: Any) {
        arm(nil) { (path) throws(LarderError) in try .setting(value, priority, path) }
    }

    /// Replaces the data of the location and its priority when the connection ends.
    public func onDisconnectSetValue(
        _ value: Any?, andPriority priority: Any?,
        withCompletionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        arm(block) { (path) throws(LarderError) in try .setting(value, priority, path) }
    }

    /// Replaces the data of the location and its priority when the connection ends, and suspends
    /// until the server has recorded that.
    @discardableResult
    public nonisolated(nonsending) func onDisconnectSetValue(
        _ value: Any?, andPriority priority: Any
    ) async throws -> DatabaseReference {
        try await armed { (path) throws(LarderError) in try .setting(value, priority, path) }
    }

    /// Deletes the data of the location when the connection ends.
    public func onDisconnectRemoveValue() {
        arm(nil) { (path) in .put(path, .empty) }
    }

    /// Deletes the data of the location when the connection ends.
    public func onDisconnectRemoveValue(
        completionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        arm(block) { (path) in .put(path, .empty) }
    }

    /// Deletes the data of the location when the connection ends, and suspends until the server
    /// has recorded that.
    @discardableResult
    public nonisolated(nonsending) func onDisconnectRemoveValue() async throws -> DatabaseReference
    {
        try await armed { (path) in .put(path, .empty) }
    }

    /// Replaces the data of several locations below this one when the connection ends.
    public func onDisconnectUpdateChildValues(_ values: [AnyHashable: Any]) {
        arm(nil) { (path) throws(LarderError) in try .updating(values, path) }
    }

    /// Replaces the data of several locations below this one when the connection ends.
    public func onDisconnectUpdateChildValues(
        _ values: [AnyHashable: Any],
        withCompletionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        arm(block) { (path) throws(LarderError) in try .updating(values, path) }
    }

    /// Replaces the data of several locations below this one when the connection ends, and
    /// suspends until the server has recorded that.
    @discardableResult
    public nonisolated(nonsending) func onDisconnectUpdateChildValues(
        _ values: [AnyHashable: Any]
    ) async throws -> DatabaseReference {
        try await armed { (path) throws(LarderError) in try .updating(values, path) }
    }

    /// Cancels all operations for the end of the connection at the location and below it.
    public func cancelDisconnectOperations() {
        arm(nil) { (path) in .cancel(path) }
    }

    /// Cancels all operations for the end of the connection at the location and below it.
    public func cancelDisconnectOperations(
        completionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        arm(block) { (path) in .cancel(path) }
    }

    /// Cancels all operations for the end of the connection at the location and below it, and
    /// suspends until the server has recorded that.
    @discardableResult
    public nonisolated(nonsending) func cancelDisconnectOperations() async throws
        -> DatabaseReference
    {
        try await armed { (path) in .cancel(path) }
    }

    // MARK: Arming

    private func arm(
        _ block: (((any Error)?, DatabaseReference) -> Void)?,
        _ make: (TreePath) throws(LarderError) -> DisconnectOperation
    ) {
        let block = Transferred(block)
        let (callbacks, logger) = (owner.callbacks, owner.logger)
        arm(make) { [self] result in
            if let error = result.databaseError, block.value == nil, error.kind != .cancelled {
                logger.error("An operation for the end of the connection failed: \(error)")
            }
            callbacks.add { block.value?(result.databaseError, self) }
        }
    }

    private nonisolated(nonsending) func armed(
        _ make: (TreePath) throws(LarderError) -> DisconnectOperation
    ) async throws -> DatabaseReference {
        let done = OneShot<Void>(errorDomain: LarderError.realtimeDomain)
        arm(make) { done.finish($0) }
        do throws(LarderError) {
            try await done.value()
            return self
        } catch {
            throw DatabaseError(error)
        }
    }

    private func arm(
        _ make: (TreePath) throws(LarderError) -> DisconnectOperation,
        _ done: @escaping Completion<Void>
    ) {
        do throws(LarderError) {
            let path = try path.get()
            try path.checkWritable()
            let operation = try make(path)
            owner.withClient(done) { $0.arm(operation, completion: $1) }
        } catch {
            done(.failure(error))
        }
    }
}

extension DisconnectOperation {
    fileprivate static func setting(
        _ value: Any?, _ priority: Any?, _ path: TreePath
    ) throws(LarderError) -> DisconnectOperation {
        .put(path, try Node(userValue: value, priority: priority, at: path))
    }

    fileprivate static func updating(
        _ values: [AnyHashable: Any], _ path: TreePath
    ) throws(LarderError) -> DisconnectOperation {
        .merge(path, try [PathValue](userValues: values, at: path))
    }
}

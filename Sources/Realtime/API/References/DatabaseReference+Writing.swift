import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime

extension DatabaseReference {
    /// Replaces the data of the location; `nil` deletes it.
    ///
    /// Returns at once; the new data is visible to all observers. Invalid data is logged; the
    /// methods with a completion block report it.
    ///
    /// - Parameter value: a number, a boolean, a string, or arrays and dictionaries of such, with
    ///   ``ServerValue``s anywhere.
    public func setValue(_ value: Any?) {
        enqueueSetValue(value).logRefusal()
    }

    /// Replaces the data of the location; `nil` deletes it.
    ///
    /// - Parameters:
    ///   - value: the data.
    ///   - block: called on the callback queue when the server has accepted or refused the write,
    ///     which may never happen while offline.
    public func setValue(
        _ value: Any?,
        withCompletionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        enqueueSetValue(value).report(self, to: block)
    }

    /// Replaces the data of the location and suspends until the server acknowledges the write,
    /// indefinitely while offline.
    ///
    /// - Throws: a ``DatabaseError``: that of the refusal; `writeCanceled` if the task is
    ///   cancelled, in which case the write stays pending.
    @discardableResult
    public nonisolated(nonsending) func setValue(_ value: Any?) async throws -> DatabaseReference {
        try await acknowledged(enqueueSetValue(value))
    }

    /// Replaces the data of the location and its priority.
    public func setValue(_ value: Any?, andPriority priority: Any?) {
        enqueueSetValue(value, andPriority: priority).logRefusal()
    }

    /// Replaces the data of the location and its priority.
    ///
    /// See ``setValue(_:withCompletionBlock:)``.
    public func setValue(
        _ value: Any?, andPriority priority: Any?,
        withCompletionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        enqueueSetValue(value, andPriority: priority).report(self, to: block)
    }

    /// Replaces the data of the location and its priority, and suspends until the server
    /// acknowledges the write.
    ///
    /// - Throws: as `setValue(_:)`.
    @discardableResult
    public nonisolated(nonsending) func setValue(
        _ value: Any?, andPriority priority: Any?
    ) async throws -> DatabaseReference {
        try await acknowledged(enqueueSetValue(value, andPriority: priority))
    }

    /// Replaces the data of the location by an encoded value.
    ///
    /// - Parameters:
    ///   - value: the value to encode.
    ///   - encoder: the encoder; its strategies apply.
    ///   - completion: called on the callback queue with the server's answer.
    /// - Throws: errors of encoding.
    public func setValue<T: Encodable>(
        from value: T, encoder: Database.Encoder = Database.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws {
        let json = try encoder.json(of: value)
        let block = completion.map { completion in
            { (error: (any Error)?, _: DatabaseReference) in completion(error) }
        }
        enqueue { (path) throws(LarderError) in
            .overwrite(path, try Node(validating: json, at: path))
        }.report(self, to: block)
    }

    /// Deletes the data of the location.
    public func removeValue() {
        enqueueRemoveValue().logRefusal()
    }

    /// Deletes the data of the location.
    ///
    /// See ``setValue(_:withCompletionBlock:)``.
    public func removeValue(
        completionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        enqueueRemoveValue().report(self, to: block)
    }

    /// Deletes the data of the location and suspends until the server acknowledges the write.
    ///
    /// - Throws: as `setValue(_:)`.
    @discardableResult
    public nonisolated(nonsending) func removeValue() async throws -> DatabaseReference {
        try await acknowledged(enqueueRemoveValue())
    }

    /// Sets the priority of the location: a number, a string or `nil`.
    ///
    /// Has no effect on a location without data.
    public func setPriority(_ priority: Any?) {
        enqueueSetPriority(priority).logRefusal()
    }

    /// Sets the priority of the location.
    ///
    /// See ``setValue(_:withCompletionBlock:)``.
    public func setPriority(
        _ priority: Any?,
        withCompletionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        enqueueSetPriority(priority).report(self, to: block)
    }

    /// Sets the priority of the location and suspends until the server acknowledges the write.
    ///
    /// - Throws: as `setValue(_:)`.
    @discardableResult
    public nonisolated(nonsending) func setPriority(
        _ priority: Any?
    ) async throws -> DatabaseReference {
        try await acknowledged(enqueueSetPriority(priority))
    }

    /// Replaces the data of several locations below this one, all or none.
    ///
    /// - Parameter values: the data by relative path, such as `name` or `address/city`; no path may
    ///   contain another.
    public func updateChildValues(_ values: [AnyHashable: Any]) {
        enqueueUpdateChildValues(values).logRefusal()
    }

    /// Replaces the data of several locations below this one, all or none.
    ///
    /// See `updateChildValues(_:)` and ``setValue(_:withCompletionBlock:)``.
    public func updateChildValues(
        _ values: [AnyHashable: Any],
        withCompletionBlock block: @escaping ((any Error)?, DatabaseReference) -> Void
    ) {
        enqueueUpdateChildValues(values).report(self, to: block)
    }

    /// Replaces the data of several locations below this one, all or none, and suspends until the
    /// server acknowledges the write.
    ///
    /// - Throws: as `setValue(_:)`.
    @discardableResult
    public nonisolated(nonsending) func updateChildValues(
        _ values: [AnyHashable: Any]
    ) async throws -> DatabaseReference {
        try await acknowledged(enqueueUpdateChildValues(values))
    }
}

// MARK: - Handles

extension DatabaseReference {
    /// Replaces the data of the location and returns a handle to the write's progress.
    ///
    /// Returns at once, also in `async` functions.
    @discardableResult
    public func enqueueSetValue(_ value: Any?) -> DatabaseWrite {
        enqueueSetValue(value, andPriority: nil)
    }

    /// Replaces the data of the location and its priority, and returns a handle to the write's
    /// progress.
    @discardableResult
    public func enqueueSetValue(_ value: Any?, andPriority priority: Any?) -> DatabaseWrite {
        enqueue { (path) throws(LarderError) in
            .overwrite(path, try Node(userValue: value, priority: priority, at: path))
        }
    }

    /// Deletes the data of the location and returns a handle to the write's progress.
    @discardableResult
    public func enqueueRemoveValue() -> DatabaseWrite {
        enqueue { (path) in .overwrite(path, .empty) }
    }

    /// Sets the priority of the location and returns a handle to the write's progress.
    @discardableResult
    public func enqueueSetPriority(_ priority: Any?) -> DatabaseWrite {
        enqueue { (path) throws(LarderError) in
            let priority = try Priority(validating: try JSONValue(userValue: priority))
            return .overwrite(path.child(.priority), Node(priority))
        }
    }

    /// Replaces the data of several locations below this one, all or none, and returns a handle to
    /// the write's progress.
    @discardableResult
    public func enqueueUpdateChildValues(_ values: [AnyHashable: Any]) -> DatabaseWrite {
        enqueue { (path) throws(LarderError) in
            .merge(path, try [PathValue](userValues: values, at: path))
        }
    }

    private func enqueue(
        _ make: (TreePath) throws(LarderError) -> WriteRequest
    ) -> DatabaseWrite {
        let write = DatabaseWrite(owner)
        write.start(
            path.flatMap { path in
                Result { () throws(LarderError) in
                    try path.checkWritable()
                    return try make(path)
                }
            })
        return write
    }

    private nonisolated(nonsending) func acknowledged(
        _ write: DatabaseWrite
    ) async throws -> DatabaseReference {
        try await write.acknowledged()
        return self
    }
}

// MARK: - Values

extension TreePath {
    /// Throws `invalidArgument` for a location of the client's own state.
    func checkWritable() throws(LarderError) {
        if InfoTree.contains(self) {
            throw .invalidArgument("\(self) cannot be written: data under /.info is the client's")
        }
    }
}

extension Node {
    /// The node of an application's value.
    init(userValue value: Any?, priority: Any?, at path: TreePath) throws(LarderError) {
        try self.init(
            validating: try JSONValue(userValue: value),
            priority: priority == nil ? nil : try JSONValue(userValue: priority), at: path)
    }
}

extension [PathValue] {
    /// The values of an application's update.
    init(userValues values: [AnyHashable: Any], at path: TreePath) throws(LarderError) {
        try self.init(validatingUpdate: try JSONValue(userValue: values), at: path)
    }
}

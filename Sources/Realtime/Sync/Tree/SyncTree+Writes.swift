package import LarderRealtimeModel

extension SyncTree {
    /// Adds a write of the user after all others.
    ///
    /// - Parameters:
    ///   - write: the write, as it is sent: with its server values; its number is that of
    ///     ``newWriteID()``, or above.
    ///   - isSaved: true if the write is stored, to be sent again after a restart.
    ///   - time: the server's estimated time, in milliseconds since the Unix epoch.
    package mutating func write(
        _ write: PendingWrite, isSaved: Bool = true, at time: Int64
    ) -> [TreeEvent] {
        if isSaved { stored?.record(.saveWrite(write)) }
        return add(resolved(write, at: time))
    }

    /// Makes room for a number of writes.
    package mutating func reserveCapacity(forWrites count: Int) {
        writes.reserveCapacity(count)
    }

    /// Adds a stored write again after a restart, before any listener.
    ///
    /// Increments are resolved against the stored data and the earlier writes.
    package mutating func restore(_ write: PendingWrite, at time: Int64) {
        note(write.id)
        writes.add(resolved(write, at: time))
    }

    /// Adds a write whose server values were resolved.
    private mutating func add(_ write: PendingWrite) -> [TreeEvent] {
        note(write.id)
        if let affected = writes.add(write) { return contentChanged(at: affected) }
        if !write.isVisible { return [] }
        return switch write.change {
        case .overwrite(let node):
            apply(TreeOperation(.user, at: write.path, .overwrite(node)))
        case .merge(let values):
            apply(TreeOperation(.user, at: write.path, .merge(PathTree(values))))
        }
    }

    /// The server has accepted a write, and has sent its effect on what is listened to.
    package mutating func acknowledge(_ id: WriteID) -> [TreeEvent] {
        guard let write = writes[id] else { return [] }
        stored?.record(.removeWrite(id))
        let isExact = guesses.remove(id) == nil
        store(AcceptedWrite(id, write.values, isExact: isExact))
        return writes.remove(id, isAccepted: true).map {
            apply(TreeOperation(.user, at: .root, .acknowledgement($0)))
        } ?? []
    }

    /// The server has refused a write, or the user has cancelled it.
    package mutating func revert(_ id: WriteID) -> [TreeEvent] {
        guard writes[id] != nil else { return [] }
        stored?.record(.removeWrite(id))
        guesses.remove(id)
        return writes.remove(id, isAccepted: false).map {
            apply(TreeOperation(.user, at: .root, .reversal($0)))
        } ?? []
    }

    /// Cancels all writes.
    package mutating func revertAllWrites() -> [TreeEvent] {
        stored?.record(.removeAllWrites)
        guesses = []
        return writes.removeAll().map {
            apply(TreeOperation(.user, at: .root, .reversal($0)))
        } ?? []
    }
}

// MARK: - Writes of other clients

extension SyncTree {
    /// A write of another client has left the queue; as far as the server has accepted it, the
    /// server's data contains it.
    package mutating func removeForeign(_ id: WriteID) -> [TreeEvent] {
        guesses.remove(id)
        return writes.remove(id, isAccepted: false).map { contentChanged(at: $0) } ?? []
    }

    /// The server has accepted a write of another client, without a connection that tells of it:
    /// its values count as the server's data.
    package mutating func acceptForeign(_ id: WriteID) -> [TreeEvent] {
        guard let write = writes[id] else { return [] }
        let isExact = !guesses.contains(id)
        var events: [TreeEvent] = []
        for value in write.values {
            if isExact {
                stored?.serverChanged(
                    value.path, [PathValue(.root, value.node)], isOverwrite: true)
            }
            events += apply(TreeOperation(.server, at: value.path, .overwrite(value.node)))
        }
        return events + removeForeign(id)
    }

    private mutating func contentChanged(at paths: PathTree<Bool>) -> [TreeEvent] {
        paths.isEmpty ? [] : apply(TreeOperation(.user, at: .root, .reversal(paths)))
    }
}

// MARK: - The latest state

extension SyncTree {
    /// The content of a location with all pending writes, hidden ones included.
    ///
    /// Transactions start from it and increments add to it. Empty where nothing is known.
    ///
    /// - Parameters:
    ///   - onlyComplete: whether what is cached of the location counts only if it is all of it.
    ///   - excluded: writes that are left out.
    ///   - withForeign: false to leave out the writes of other clients, which the server may
    ///     receive later.
    package func latestNode(
        at path: TreePath, onlyComplete: Bool = false, excluding excluded: Set<WriteID> = [],
        withForeign: Bool = true
    ) -> Node {
        // An unreadable cache is like an empty one: the server compares what is based on it.
        func server() -> Node? {
            serverNode(at: path) ?? storedNode(at: path, onlyComplete: onlyComplete)
        }
        return writes.latestNode(
            at: path, over: server, excluding: excluded, withForeign: withForeign) ?? .empty
    }

    private func storedNode(at path: TreePath, onlyComplete: Bool) -> Node? {
        onlyComplete
            ? (try? stored?.completeNode(at: path)).flatMap { $0 }
            : (try? stored?.node(at: path)).flatMap { $0 }
    }

    /// A write with its server values resolved against the latest state.
    private mutating func resolved(_ write: PendingWrite, at time: Int64) -> PendingWrite {
        var write = write
        guard write.values.contains(where: \.node.hasDeferredValues) else { return write }
        guesses.insert(write.id)
        switch write.change {
        case .overwrite(let node):
            write.change = .overwrite(
                node.resolvingServerValues(at: time) { latestNode(at: write.path) })
        case .merge(let values):
            write.change = .merge(
                values.map { value in
                    let path = write.path.appending(value.path)
                    return PathValue(
                        value.path,
                        value.node.resolvingServerValues(at: time) { latestNode(at: path) })
                })
        }
        return write
    }
}

package import LarderRealtimeModel

extension WriteTree {
    /// A written node with its path from the root.
    struct PlacedEntry: Comparable {
        let id: WriteID
        let value: PathValue

        /// The order in which the nodes are to be set.
        static func < (left: PlacedEntry, right: PlacedEntry) -> Bool {
            (left.id, left.value.rank) < (right.id, right.value.rank)
        }
    }

    /// The accepted nodes that were written at a path and below it, in the order of the writes.
    func entries(
        atAndBelow path: TreePath, where accepts: (WriteEntry) -> Bool
    ) -> [PlacedEntry] {
        var found: [PlacedEntry] = []
        index.subtree(at: path)?.forEach { rest, entries in
            let place = path.appending(rest)
            for entry in entries.filter(accepts) {
                found.append(PlacedEntry(id: entry.id, value: PathValue(place, entry.node)))
            }
        }
        return found.sorted()
    }

    /// The accepted nodes that were written below a path, in the order of the writes.
    func entries(below path: TreePath, where accepts: (WriteEntry) -> Bool) -> [PlacedEntry] {
        entries(atAndBelow: path, where: accepts).filter {
            $0.value.path.count > path.count
        }
    }

    /// The content of a location with pending writes applied to it one after the other, hidden ones
    /// included.
    ///
    /// - Parameters:
    ///   - path: the location.
    ///   - server: its content as the server has it; nil if that is unknown.
    ///   - excluded: writes that are left out.
    ///   - withForeign: false to leave out the writes of other clients.
    /// - Returns: nil if neither the server's content nor that of a write is known.
    ///
    /// Complexity: O(n log n) for n writes at and below the location.
    package func latestNode(
        at path: TreePath, over server: Node?, excluding excluded: Set<WriteID> = [],
        withForeign: Bool = true
    ) -> Node? {
        func counts(_ entry: WriteEntry) -> Bool {
            !excluded.contains(entry.id) && (withForeign || !entry.isForeign)
        }
        var base: (id: WriteID, node: Node)?
        index.visit(along: path) { depth, entries in
            if let entry = entries.last(where: counts),
                base.map({ $0.id < entry.id }) ?? true
            {
                base = (entry.id, entry.node.node(at: path.dropFirst(depth)))
            }
            return true
        }
        let later = entries(below: path) { entry in
            counts(entry) && (base.map { $0.id < entry.id } ?? true)
        }
        if base == nil, server == nil, later.isEmpty { return nil }
        return later.reduce(base?.node ?? server ?? .empty) {
            $0.setting($1.value.path.dropFirst(path.count), to: $1.value.node)
        }
    }
}

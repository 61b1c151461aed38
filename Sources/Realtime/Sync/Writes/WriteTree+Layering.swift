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

    /// The accepted nodes that were written below a path, in the order of the writes.
    ///
    /// Complexity: O(n log n) for n writes below the path; those at the path itself cost nothing.
    ///
    /// - Parameter id: only the nodes of writes after this one; nil for all.
    func entries(
        below path: TreePath, after id: WriteID?, where accepts: (WriteEntry) -> Bool
    ) -> [PlacedEntry] {
        var found: [PlacedEntry] = []
        index.subtree(at: path)?.forEach { rest, entries in
            if rest.isEmpty { return }
            let place = path.appending(rest)
            for entry in entries.after(id) where accepts(entry) {
                found.append(PlacedEntry(id: entry.id, value: PathValue(place, entry.node)))
            }
        }
        return found.sorted()
    }

    /// The content of a location with pending writes applied to it one after the other, hidden ones
    /// included.
    ///
    /// - Parameters:
    ///   - path: the location.
    ///   - server: returns its content as the server has it, nil if that is unknown; not called if a
    ///     write says all of it.
    ///   - excluded: writes that are left out.
    ///   - withForeign: false to leave out the writes of other clients.
    /// - Returns: nil if neither the server's content nor that of a write is known.
    ///
    /// Complexity: O(n log n) for n writes below the location; those at the location itself cost
    /// nothing.
    package func latestNode(
        at path: TreePath, over server: () -> Node?, excluding excluded: Set<WriteID> = [],
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
        let later = entries(below: path, after: base?.id, where: counts)
        let first = base?.node ?? server()
        if first == nil, later.isEmpty { return nil }
        return later.reduce(first ?? .empty) {
            $0.setting($1.value.path.dropFirst(path.count), to: $1.value.node)
        }
    }
}

import LarderRealtimeModel

/// The listens of all sessions, by place and query, so that a write finds those that it concerns.
final class ListenRegistry {
    /// The listens at a path, and the places below it that have any.
    final class Place {
        fileprivate(set) var groups: [QueryParameters: Group] = [:]
        fileprivate(set) var children: [ChildKey: Place] = [:]

        fileprivate var isUnused: Bool { groups.isEmpty && children.isEmpty }

        /// The groups in the order of their beginning.
        var orderedGroups: [Group] {
            groups.count < 2 ? Array(groups.values) : groups.values.sorted { $0.number < $1.number }
        }
    }

    /// A session's listen.
    final class Listener {
        let session: BackendSession
        let tag: Int?
        /// True while a change of the window is to be sent, as ``UnsentWindows`` has it.
        var isUnsent = false

        fileprivate init(_ session: BackendSession, _ tag: Int?) {
            self.session = session
            self.tag = tag
        }
    }

    /// The listens to one query.
    final class Group {
        let parameters: QueryParameters
        fileprivate let number: UInt64
        /// The listens, in the order in which their sessions began.
        private(set) var listeners: [Listener] = []

        fileprivate init(_ parameters: QueryParameters, number: UInt64) {
            self.parameters = parameters
            self.number = number
        }

        fileprivate func insert(_ session: BackendSession, _ tag: Int?) {
            listeners.insert(Listener(session, tag), at: position(of: session, tag))
        }

        fileprivate func remove(_ session: BackendSession, _ tag: Int?) {
            let position = position(of: session, tag)
            guard position < listeners.count, listeners[position].session === session,
                listeners[position].tag == tag
            else { return }
            listeners.remove(at: position).isUnsent = false
        }

        /// The first position that is not before a listen.
        private func position(of session: BackendSession, _ tag: Int?) -> Int {
            var (low, high) = (0, listeners.count)
            while low < high {
                let middle = (low + high) / 2
                let other = listeners[middle]
                if (other.session.number, other.tag ?? -1) < (session.number, tag ?? -1) {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            return low
        }
    }

    let root = Place()
    private var lastGroup: UInt64 = 0

    /// Adds a listen that is not there yet.
    func insert(_ key: ListenKey, of session: BackendSession) {
        var place = root
        for component in key.query.path {
            let next = place.children[component] ?? Place()
            place.children[component] = next
            place = next
        }
        let group = place.groups[key.query.parameters] ?? newGroup(key.query.parameters)
        place.groups[key.query.parameters] = group
        group.insert(session, key.tag)
    }

    private func newGroup(_ parameters: QueryParameters) -> Group {
        lastGroup += 1
        return Group(parameters, number: lastGroup)
    }

    func remove(_ key: ListenKey, of session: BackendSession) {
        var places = [root]
        for component in key.query.path {
            guard let next = places.last?.children[component] else { return }
            places.append(next)
        }
        guard let place = places.last, let group = place.groups[key.query.parameters] else {
            return
        }
        group.remove(session, key.tag)
        if group.listeners.isEmpty { place.groups[key.query.parameters] = nil }
        for (parent, component) in zip(places, key.query.path).reversed()
        where parent.children[component]?.isUnused == true {
            parent.children[component] = nil
        }
    }
}

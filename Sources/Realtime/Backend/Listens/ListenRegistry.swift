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

    /// The listens to one query.
    final class Group {
        let parameters: QueryParameters
        fileprivate let number: UInt64
        fileprivate var members: [Member: Session] = [:]

        fileprivate init(_ parameters: QueryParameters, number: UInt64) {
            self.parameters = parameters
            self.number = number
        }

        /// The listening sessions, with their tags, in the order of their beginning.
        var listeners: [(session: Session, tag: Int?)] {
            members.sorted { $0.key < $1.key }.map { ($0.value, $0.key.tag) }
        }
    }

    fileprivate struct Member: Hashable, Comparable {
        let session: UInt64
        let tag: Int?

        static func < (left: Member, right: Member) -> Bool {
            (left.session, left.tag ?? -1) < (right.session, right.tag ?? -1)
        }
    }

    let root = Place()
    private var lastGroup: UInt64 = 0

    func insert(_ key: ListenKey, of session: Session) {
        var place = root
        for component in key.query.path {
            let next = place.children[component] ?? Place()
            place.children[component] = next
            place = next
        }
        let group = place.groups[key.query.parameters] ?? newGroup(key.query.parameters)
        place.groups[key.query.parameters] = group
        group.members[Member(session: session.number, tag: key.tag)] = session
    }

    private func newGroup(_ parameters: QueryParameters) -> Group {
        lastGroup += 1
        return Group(parameters, number: lastGroup)
    }

    func remove(_ key: ListenKey, of session: Session) {
        var places = [root]
        for component in key.query.path {
            guard let next = places.last?.children[component] else { return }
            places.append(next)
        }
        guard let place = places.last, let group = place.groups[key.query.parameters] else { return }
        group.members[Member(session: session.number, tag: key.tag)] = nil
        if group.members.isEmpty { place.groups[key.query.parameters] = nil }
        for (parent, component) in zip(places, key.query.path).reversed()
        where parent.children[component]?.isUnused == true {
            parent.children[component] = nil
        }
    }
}

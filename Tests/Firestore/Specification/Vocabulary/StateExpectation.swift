import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote

/// What must hold of a client after a step; nil for what the step does not speak of.
struct StateExpectation: Sendable {
    /// What the backend watches for the client, by target; holds until it is set again.
    var activeTargets: [Int32: TargetExpectation]?
    /// Documents that a target resolves; holds until it is set again.
    var activeLimboDocuments: Set<DocumentPath>?
    /// Documents that wait for such a target; holds until it is set again.
    var enqueuedLimboDocuments: Set<DocumentPath>?
    /// Whose writes were answered in this step; none if absent.
    var acknowledged: [DocumentPath] = []
    var rejected: [DocumentPath] = []
    var outstandingWriteCount: Int?
    var writeRequestCount: Int?
    var watchRequestCount: Int?
    var isPrimary: Bool?
    var activeClientCount: Int?
    var isShutDown: Bool?
    var indexes: [IndexDefinition]?

    init(_ node: SpecNode) throws {
        self = try node.object { try StateExpectation(from: &$0) }
    }

    private init(from state: inout SpecObject) throws {
        activeTargets = try state.takeIfPresent("activeTargets")?.activeTargets()
        activeLimboDocuments = try state.takeIfPresent("activeLimboDocs").map {
            Set(try $0.documentPaths())
        }
        enqueuedLimboDocuments = try state.takeIfPresent("enqueuedLimboDocs").map {
            Set(try $0.documentPaths())
        }
        if let callbacks = state.takeIfPresent("userCallbacks") {
            (acknowledged, rejected) = try callbacks.object { callbacks in
                (
                    try callbacks.takeIfPresent("acknowledgedDocs")?.documentPaths() ?? [],
                    try callbacks.takeIfPresent("rejectedDocs")?.documentPaths() ?? []
                )
            }
        }
        outstandingWriteCount = try state.takeIfPresent("numOutstandingWrites")?.integer()
        writeRequestCount = try state.takeIfPresent("writeStreamRequestCount")?.integer()
        watchRequestCount = try state.takeIfPresent("watchStreamRequestCount")?.integer()
        isPrimary = try state.takeIfPresent("isPrimary")?.bool()
        activeClientCount = try state.takeIfPresent("numActiveClients")?.integer()
        isShutDown = try state.takeIfPresent("isShutdown")?.bool()
        indexes = try state.takeIfPresent("indexes")?.array().map { try $0.index() }
    }
}

/// What was last asked of the backend for one target.
struct TargetExpectation: Sendable {
    let target: QueryTarget
    let resumption: WatchTarget.Resumption
    let purpose: WatchTarget.Purpose
    /// Nil where any will do.
    let expectedCount: Int?
}

extension SpecNode {
    fileprivate func activeTargets() throws -> [Int32: TargetExpectation] {
        guard case .object(let members) = value else { throw failure("is not an object") }
        var targets: [Int32: TargetExpectation] = [:]
        for (key, member) in members {
            let node = SpecNode(member, at: "\(place).\(key)")
            guard let id = Int32(key) else { throw node.failure("is no target's number") }
            targets[id] = try node.activeTarget()
        }
        return targets
    }

    private func activeTarget() throws -> TargetExpectation {
        try object { target in
            let queries = try target.take("queries").array().map { try $0.query().target }
            guard let first = queries.first, queries.allSatisfy({ $0 == first }) else {
                throw failure("queries of one target must ask for the same")
            }
            let token = try target.takeIfPresent("resumeToken")?.token() ?? []
            let readTime = try target.takeIfPresent("readTime")?.version() ?? .none
            return TargetExpectation(
                target: first,
                resumption: !token.isEmpty
                    ? .token(token) : readTime.isNone ? .none : .readTime(readTime),
                purpose: try target.takeIfPresent("targetPurpose")?.purpose() ?? .listen,
                expectedCount: try target.takeIfPresent("expectedCount")?.integer())
        }
    }

    private func purpose() throws -> WatchTarget.Purpose {
        switch try string() {
        case "TargetPurposeListen": .listen
        case "TargetPurposeExistenceFilterMismatch": .existenceFilterMismatch
        case "TargetPurposeExistenceFilterMismatchBloom": .existenceFilterMismatchBloom
        case "TargetPurposeLimboResolution": .limboResolution
        default: throw failure("unknown purpose \(value)")
        }
    }

    /// An index; how far it has been filled is each engine's own affair.
    fileprivate func index() throws -> IndexDefinition {
        try object { index in
            _ = index.takeIfPresent("indexId")
            _ = index.takeIfPresent("indexState")
            return IndexDefinition(
                collectionGroup: try index.take("collectionGroup").string(),
                segments: try index.take("fields").array().map { try $0.segment() })
        }
    }

    private func segment() throws -> IndexDefinition.Segment {
        try object { field in
            let path = try field.take("fieldPath").object { path in
                let (offset, count) = (
                    try path.takeIfPresent("offset")?.integer(Int.self) ?? 0,
                    try path.take("len").integer(Int.self)
                )
                let names = try path.take("segments").array().map { try $0.string() }
                return try FieldPath(Array(names.dropFirst(offset).prefix(count)))
            }
            let kind = try field.take("kind")
            guard let known = IndexDefinition.Segment.Kind(rawValue: try kind.integer()) else {
                throw kind.failure("unknown kind \(kind.value)")
            }
            return IndexDefinition.Segment(path, known)
        }
    }
}

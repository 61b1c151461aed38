package import LarderModel
package import LarderQuery
import LarderRemote

/// Loads a bundle into a local store, in steps between which other work can be done.
///
/// Give it the bundle's bytes as they come; take steps while there are some; at the bundle's end
/// finish. Documents are cached a number at a time, so that neither memory nor a commit grows with
/// the bundle. Of a bundle that turns out to be malformed, what came before stays cached: each of
/// its documents is true by itself. It does not count as loaded.
///
/// Every call but ``append(_:)`` may block for the disk.
package struct BundleLoader: Sendable {
    /// How far it is.
    package private(set) var progress = LoadBundleProgress()
    /// Whether nothing is left to be done: the rest of the bundle need not be read.
    package var isComplete: Bool { progress.state == .success }

    private let localStore: LocalStore
    private let documentsPerCommit: Int
    private var reader: BundleReader
    private var metadata: BundleMetadata?
    /// The bytes of the first part.
    private var metadataBytes: Int64 = 0
    private var target: TargetData?
    /// What has been said of a document that comes next.
    private var announced: BundledDocumentMetadata?
    /// Documents that are not cached yet.
    private var waiting: [DocumentReading] = []
    private var found: Set<DocumentPath> = []
    private var queries: [NamedQuery] = []
    private var results: [String: Set<DocumentPath>] = [:]

    /// Loads into a store.
    ///
    /// - Parameter documentsPerCommit: how many documents are cached together.
    package init(_ localStore: LocalStore, documentsPerCommit: Int = 200) {
        self.localStore = localStore
        self.documentsPerCommit = documentsPerCommit
        reader = BundleReader(database: localStore.databaseID)
    }

    /// Adds bytes of the bundle that have come.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        reader.append(bytes)
    }

    /// Loads some of what has come.
    ///
    /// - Returns: what it did; nil when nothing can be done until more comes.
    /// - Throws: `invalidArgument` for a malformed bundle, or what the store throws; the loading
    ///   has failed then.
    package mutating func step() throws(LarderError) -> BundleStep? {
        guard progress.state == .inProgress else { return nil }
        do throws(LarderError) {
            var (step, isIdle) = (BundleStep(), true)
            while progress.state == .inProgress, waiting.count < documentsPerCommit,
                let element = try reader.next()
            {
                isIdle = false
                try load(element, &step)
            }
            if waiting.count >= documentsPerCommit { try cacheWaiting(&step) }
            return isIdle ? nil : step
        } catch {
            progress.state = .error
            throw error
        }
    }

    /// Ends the loading, once the whole bundle was given and no step is left.
    ///
    /// - Parameters:
    ///   - step: what is done is added to it, also before an error.
    ///   - activeTarget: what is known of a target where it is active.
    /// - Throws: as ``step()``, also for a bundle that is not whole.
    package mutating func finish(
        _ step: inout BundleStep, activeTarget: (QueryTarget) -> TargetData? = { _ in nil }
    ) throws(LarderError) {
        guard progress.state == .inProgress else { return }
        do throws(LarderError) {
            try reader.finish()
            guard let metadata, let target else { throw .malformedBundle("it is empty") }
            try expectNothing()
            guard progress.documentsLoaded == metadata.totalDocuments else {
                throw .malformedBundle(
                    "it has \(progress.documentsLoaded) documents, not the "
                        + "\(metadata.totalDocuments) that it says")
            }
            try cacheWaiting(&step)
            try localStore.setDocuments(found, ofTarget: target.id)
            for query in queries {
                step.targets.append(
                    try localStore.save(
                        query, documents: results[query.name] ?? [],
                        active: activeTarget(query.query.target)))
            }
            try localStore.save(metadata)
            succeed(&step)
        } catch {
            progress.state = .error
            throw error
        }
    }

    // MARK: Elements

    private mutating func load(_ element: BundleElement, _ step: inout BundleStep)
        throws(LarderError)
    {
        guard metadata != nil else {
            guard case .metadata(let metadata) = element else {
                throw .malformedBundle("it does not begin with its metadata")
            }
            return try begin(metadata, &step)
        }
        progress.bytesLoaded = reader.bytesRead - metadataBytes
        switch element {
        case .metadata: throw .malformedBundle("it has metadata twice")
        case .namedQuery(let query):
            try expectNothing()
            queries.append(query)
        case .documentMetadata(let metadata):
            try expectNothing()
            for query in metadata.queries { results[query, default: []].insert(metadata.path) }
            guard !metadata.exists else {
                announced = metadata
                return
            }
            try take(
                DocumentReading(
                    path: metadata.path, contents: .absent, version: metadata.readTime), &step)
        case .document(let document):
            guard let expected = announced, expected.path == document.path else {
                throw .malformedBundle("a document without its metadata")
            }
            announced = nil
            found.insert(document.path)
            try take(document, &step)
        }
    }

    private mutating func begin(_ metadata: BundleMetadata, _ step: inout BundleStep)
        throws(LarderError)
    {
        self.metadata = metadata
        metadataBytes = reader.bytesRead
        progress.totalDocuments = metadata.totalDocuments
        progress.totalBytes = metadata.totalBytes
        if try localStore.hasNewerBundle(than: metadata) { return succeed(&step) }
        let target = try localStore.allocateTarget(ofBundle: metadata.id)
        self.target = target
        step.targets.append(target)
        step.progress.append(progress)
    }

    private mutating func take(_ document: DocumentReading, _ step: inout BundleStep)
        throws(LarderError)
    {
        guard progress.documentsLoaded < progress.totalDocuments else {
            throw .malformedBundle("it has more documents than it says")
        }
        waiting.append(document)
        progress.documentsLoaded += 1
        step.progress.append(progress)
    }

    /// Throws when a document was announced and has not come.
    private func expectNothing() throws(LarderError) {
        if let announced {
            throw .malformedBundle("'\(announced.path)' is announced and does not come")
        }
    }

    private mutating func cacheWaiting(_ step: inout BundleStep) throws(LarderError) {
        guard let target, !waiting.isEmpty else { return }
        step.changes += try localStore.applyBundledDocuments(waiting, targetID: target.id)
        waiting = []
    }

    private mutating func succeed(_ step: inout BundleStep) {
        progress.documentsLoaded = progress.totalDocuments
        progress.bytesLoaded = progress.totalBytes
        progress.state = .success
        step.progress.append(progress)
    }
}

/// What a step of loading a bundle has done.
package struct BundleStep: Sendable {
    /// What an observer is told, in order.
    package var progress: [LoadBundleProgress] = []
    /// Documents that changed in the cache, as the user sees them.
    package var changes: [LocalChange] = []
    /// Targets that came into use, as they are now.
    ///
    /// They keep the bundle's documents from
    /// eviction while they are pinned; what an engine knows of them otherwise is out of date.
    package var targets: [TargetData] = []

    /// A step that has done nothing.
    package init() {}
}

/// How far the loading of a bundle is.
package struct LoadBundleProgress: Sendable, Equatable {
    /// What has become of it so far.
    package enum State: Sendable {
        /// It goes on.
        case inProgress
        /// All of the bundle is there, now or from an earlier time.
        case success
        /// It has failed; the numbers say how far it came.
        case error
    }

    /// Documents so far, also those that are said not to exist.
    package var documentsLoaded = 0
    /// Documents of the bundle, as it says itself.
    package var totalDocuments = 0
    /// Bytes so far, without those of the first part.
    package var bytesLoaded: Int64 = 0
    /// Bytes of the bundle without its first part, as it says itself.
    package var totalBytes: Int64 = 0
    /// What has become of it so far.
    package var state = State.inProgress

    /// Nothing so far.
    package init() {}
}

package import LarderModel
package import LarderQuery
import LarderRemote

/// Loads a bundle into a local store, in steps.
///
/// Append bytes as they arrive, take steps while there are some, and finish at the bundle's end.
/// Documents are cached in groups, so that neither memory nor a commit grows with the bundle.
/// Documents before a malformed part stay cached; the bundle does not count as loaded.
///
/// All calls except ``append(_:)`` may block for the disk.
package struct BundleLoader: Sendable {
    package private(set) var progress = LoadBundleProgress()
    /// True if the rest of the bundle need not be read.
    package var isComplete: Bool { progress.state == .success }

    private let localStore: LocalStore
    private let documentsPerCommit: Int
    private var reader: BundleReader
    private var metadata: BundleMetadata?
    private var metadataBytes: Int64 = 0
    private var target: TargetData?
    /// The description of the document that follows.
    private var announced: BundledDocumentMetadata?
    private var waiting: [DocumentReading] = []
    private var found: Set<DocumentPath> = []
    private var queries: [NamedQuery] = []
    private var results: [String: Set<DocumentPath>] = [:]

    /// - Parameter documentsPerCommit: the number of documents in a commit.
    package init(_ localStore: LocalStore, documentsPerCommit: Int = 200) {
        self.localStore = localStore
        self.documentsPerCommit = documentsPerCommit
        reader = BundleReader(database: localStore.databaseID)
    }

    package mutating func append(_ bytes: some Collection<UInt8>) {
        reader.append(bytes)
    }

    /// Loads some of the appended parts.
    ///
    /// - Returns: nil if more bytes are needed.
    /// - Throws: `invalidArgument` for a malformed bundle, or the store's error; the loading has
    ///   then failed.
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

    /// Ends the loading, after the last step of the whole bundle.
    ///
    /// - Parameters:
    ///   - step: receives the effects, including those before an error.
    ///   - activeTarget: returns the state of an active target.
    /// - Throws: as ``step()``, and for an incomplete bundle; `unknown` for an empty one.
    package mutating func finish(
        _ step: inout BundleStep, activeTarget: (QueryTarget) -> TargetData? = { _ in nil }
    ) throws(LarderError) {
        guard progress.state == .inProgress else { return }
        do throws(LarderError) {
            try reader.finish()
            // Apple's SDK has this code for it, other than for malformed bundles.
            guard let metadata, let target else {
                throw LarderError(.unknown, "the bundle is empty")
            }
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

    /// Throws if a described document is missing.
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

/// The effects of a step of loading a bundle.
package struct BundleStep: Sendable {
    /// For observers, in order.
    package var progress: [LoadBundleProgress] = []
    /// Changed documents of the cache, as the user sees them.
    package var changes: [LocalChange] = []
    /// New states of targets.
    ///
    /// Pinned, they keep the bundle's documents from eviction; an engine's own states of them are
    /// out of date.
    package var targets: [TargetData] = []

    package init() {}
}

/// The progress of loading a bundle.
package struct LoadBundleProgress: Sendable, Equatable {
    package enum State: Sendable {
        case inProgress
        /// The bundle is loaded, or was loaded before.
        case success
        /// Loading has failed after the given progress.
        case error
    }

    /// Documents so far, including those that do not exist.
    package var documentsLoaded = 0
    /// The number of documents by the bundle's description.
    package var totalDocuments = 0
    /// Bytes so far, without the first part.
    package var bytesLoaded: Int64 = 0
    /// The size without the first part, by the bundle's description.
    package var totalBytes: Int64 = 0
    package var state = State.inProgress

    package init() {}
}

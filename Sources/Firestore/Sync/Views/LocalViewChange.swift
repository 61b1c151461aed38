package import LarderModel

/// What a commit did to one document, as the user sees it.
package struct LocalViewChange: Sendable {
    /// The document.
    package let path: DocumentPath
    /// What was known of it before; nil for nothing.
    package let before: Document?
    /// What is known of it now; nil for nothing.
    package let after: Document?
    /// Whether pending writes are gone that no backend has made: what they showed must go, too.
    package let revertsWrites: Bool

    /// A change of what is known of a document.
    package init(
        path: DocumentPath, before: Document?, after: Document?, revertsWrites: Bool = false
    ) {
        self.path = path
        self.before = before
        self.after = after
        self.revertsWrites = revertsWrites
    }
}

/// What the backend has told of the documents of a view's target.
package struct ViewTargetChange: Sendable {
    /// Documents that are now in the target.
    package var added: [DocumentPath]
    /// Documents that are no longer in it.
    package var removed: [DocumentPath]
    /// Whether the backend has told everything up to the present.
    package var isCurrent: Bool
    /// Whether the backend has given a token to resume the target from.
    package var hasResumeToken: Bool
    /// The backend's snapshot of which all documents of the target are known; none for what it
    /// was.
    package var readTime: SnapshotVersion

    /// A change of a target.
    package init(
        added: [DocumentPath] = [], removed: [DocumentPath] = [], isCurrent: Bool = false,
        hasResumeToken: Bool = false, readTime: SnapshotVersion = .none
    ) {
        self.added = added
        self.removed = removed
        self.isCurrent = isCurrent
        self.hasResumeToken = hasResumeToken
        self.readTime = readTime
    }
}

/// A document of a view came into limbo or left it: the view matches it, but the backend has not
/// told that its target has it.
package struct LimboChange: Sendable, Hashable {
    /// The document.
    package let path: DocumentPath
    /// Whether it came into limbo.
    package let isAdded: Bool

    /// A change of limbo.
    package init(_ path: DocumentPath, isAdded: Bool) {
        self.path = path
        self.isAdded = isAdded
    }
}

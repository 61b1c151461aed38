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
    package let takesBack: Bool

    /// A change of what is known of a document.
    package init(
        path: DocumentPath, before: Document?, after: Document?, takesBack: Bool = false
    ) {
        self.path = path
        self.before = before
        self.after = after
        self.takesBack = takesBack
    }
}

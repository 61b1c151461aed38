package import LarderModel

/// What a backend said of one document.
package struct RemoteDocumentUpdate: Sendable {
    /// What is known of the document now.
    package enum Contents: Sendable {
        /// It exists with these fields; when it was created, where that was said.
        case found(Record, createTime: Timestamp?)
        /// It does not exist.
        case absent
    }

    /// The document.
    package let path: DocumentPath
    /// What is known of it.
    package let contents: Contents
    /// The version of the contents; ``LarderModel/SnapshotVersion/none`` with
    /// ``Contents/absent`` says that nothing is known of the document any more.
    package let version: SnapshotVersion

    /// What a backend said of a document.
    package init(path: DocumentPath, contents: Contents, version: SnapshotVersion) {
        self.path = path
        self.contents = contents
        self.version = version
    }
}

package import LarderModel

/// What a backend says of one document.
package struct DocumentReading: Sendable, Equatable {
    /// What is known of the document.
    package enum Contents: Sendable, Equatable {
        /// It exists with these fields; when it was created, where that was said.
        case found(Record, createTime: Timestamp?)
        /// It does not exist.
        case absent
    }

    /// The document.
    package var path: DocumentPath
    /// What is known of it.
    package var contents: Contents
    /// The version of the contents, or the snapshot in which it did not exist.
    package var version: SnapshotVersion

    /// What a backend says of a document.
    package init(path: DocumentPath, contents: Contents, version: SnapshotVersion) {
        self.path = path
        self.contents = contents
        self.version = version
    }

    /// Whether the document exists.
    package var exists: Bool {
        if case .found = contents { true } else { false }
    }
}

package import LarderCore
import Synchronization

/// The files of bodies that are too large for memory; any thread may use it.
package final class BodyFiles: Sendable {
    /// The size from which a body is kept in a file.
    package static let smallBytes = 1 << 20

    /// The size of the largest body.
    package let maxBytes: Int
    /// The maximum number of files at a time.
    package let maxCount: Int
    private let directory: @Sendable () throws(LarderError) -> String
    private let count = Mutex(0)
    /// The threads that write.
    let writers = WorkPool("larder.bodies", limit: 2)

    /// - Parameter directory: returns the directory of the files, which exists.
    package init(
        maxBytes: Int, maxCount: Int,
        directory: @escaping @Sendable () throws(LarderError) -> String
    ) {
        self.maxBytes = maxBytes
        self.maxCount = maxCount
        self.directory = directory
    }

    /// Takes the place of a file, which is released with the body.
    ///
    /// - Returns: nil if all places are taken.
    func begin() -> BodyFile? {
        let isFree = count.withLock { count in
            guard count < maxCount else { return false }
            count += 1
            return true
        }
        return isFree ? BodyFile(self) : nil
    }

    fileprivate func makeFile() throws(LarderError) -> TemporaryFile {
        try TemporaryFile(in: directory())
    }

    fileprivate func end() {
        count.withLock { $0 -= 1 }
    }

    /// The number of bodies.
    package var openCount: Int { count.withLock { $0 } }
}

/// A body in a file, which is removed with its last use.
package final class BodyFile: Sendable {
    private let files: BodyFiles
    private let file = Mutex<TemporaryFile?>(nil)

    fileprivate init(_ files: BodyFiles) {
        self.files = files
    }

    deinit {
        files.end()
    }

    /// The file; it is created by the first call.
    package func open() throws(LarderError) -> TemporaryFile {
        try file.withLock { (file) throws(LarderError) in
            if let file { return file }
            let created = try files.makeFile()
            file = created
            return created
        }
    }

    /// The size in bytes.
    package var count: Int { file.withLock { $0?.count ?? 0 } }
}

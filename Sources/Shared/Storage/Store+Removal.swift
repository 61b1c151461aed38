import CLarder
import Foundation
public import LarderModel

extension Store {
    /// Deletes the store of a directory with everything in it.
    ///
    /// The directory goes, too, when nothing else is left there. Does nothing where there is no
    /// store. A damaged store is deleted, too. Blocks for the disk.
    ///
    /// - Throws: `failedPrecondition` with the condition `alreadyOpen` or `locked` while this or
    ///   another process has it open, or `foreignFile` for something that is not a store;
    ///   `unavailable` from the disk.
    public static func remove(directory: String) throws(LarderError) {
        var configuration = StoreConfiguration(directory: directory)
        configuration.createsStore = false
        do throws(LarderError) {
            try Store(configuration).close()
        } catch {
            switch error.condition {
            case .noStore: return
            case .corrupt: break
            default: throw error
            }
        }
        let files = FileManager.default
        do {
            for name in ["data.mdb", "lock.mdb", "owner.lock"] {
                let path = directory + "/" + name
                if files.fileExists(atPath: path) { try files.removeItem(atPath: path) }
            }
            if try files.contentsOfDirectory(atPath: directory).isEmpty {
                try files.removeItem(atPath: directory)
            }
        } catch {
            throw LarderError(
                .unavailable, "cannot delete the store '\(directory)'", condition: .io,
                cause: error)
        }
    }
}

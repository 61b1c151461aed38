import Foundation
import LarderDocumentStore

/// Tells the files of a store from their copies, by the file that its owners lock.
///
/// That file is not part of a copy of the store. It is marked with a modification time of its own
/// when a run begins and when the store is closed, in the transaction that notes it in the store. A
/// directory that was copied has another file; files put back below a file that stayed, which was
/// marked since, note an earlier mark. A snapshot of a whole file system cannot be told.
struct StorePlace: Equatable {
    private let file: UInt64
    /// Times as bits of seconds; 0 for none.
    private let created: UInt64
    private let modified: UInt64

    /// The file of a store at present; nil in memory.
    init?(of store: Store) {
        guard let path = store.ownerFile,
            let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let file = attributes[.systemFileNumber] as? NSNumber
        else { return nil }
        func time(_ key: FileAttributeKey) -> UInt64 {
            (attributes[key] as? Date)?.timeIntervalSince1970.bitPattern ?? 0
        }
        self.file = file.uint64Value
        (created, modified) = (time(.creationDate), time(.modificationDate))
    }

    /// Marks the file of a store with a time that no copy has; nil in memory, and where that is not
    /// possible.
    static func mark(_ store: Store) -> StorePlace? {
        guard let path = store.ownerFile else { return nil }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        now.tv_nsec = Int.random(in: 0..<1_000_000_000)
        guard utimensat(AT_FDCWD, path, [now, now], 0) == 0 else { return nil }
        return StorePlace(of: store)
    }

    /// Decodes a stored place; nil for malformed bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == 24, let file = UInt64(littleEndian: Array(bytes[..<8])),
            let created = UInt64(littleEndian: Array(bytes[8..<16])),
            let modified = UInt64(littleEndian: Array(bytes[16...]))
        else { return nil }
        (self.file, self.created, self.modified) = (file, created, modified)
    }

    var bytes: [UInt8] {
        file.littleEndianBytes + created.littleEndianBytes + modified.littleEndianBytes
    }
}

extension Store {
    fileprivate var ownerFile: String? { directory.map { $0 + "/owner.lock" } }
}

extension UInt64 {
    var littleEndianBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
    }

    /// Decodes 8 bytes; nil for another number.
    init?(littleEndian bytes: [UInt8]?) {
        guard let bytes, bytes.count == 8 else { return nil }
        self = bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

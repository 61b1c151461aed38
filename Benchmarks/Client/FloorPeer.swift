import Floor

/// The floor: hand-written loops over LMDB.
final class FloorPeer {
    private let store: OpaquePointer
    private let reader: OpaquePointer

    /// Opens a store; durable means that each commit is on disk.
    init(directory: String, isDurable: Bool = true) {
        store = floor_open(directory, isDurable)
        reader = floor_reader_open(store)
    }

    deinit {
        floor_reader_close(reader)
        floor_close(store)
    }

    func fill(count: Int) { floor_fill(store, Int64(count)) }

    func read(_ numbers: [Int64]) -> Int { Int(floor_read(reader, numbers, numbers.count)) }

    /// A reader of its own, for a thread of its own.
    func readElsewhere(_ numbers: [Int64]) -> Int {
        let reader = floor_reader_open(store)
        defer { floor_reader_close(reader) }
        return Int(floor_read(reader, numbers, numbers.count))
    }

    func scanState() -> Int { Int(floor_scan_state(reader)) }

    func indexState() -> Int { Int(floor_index_state(reader)) }

    func scanMostPopulous(_ count: Int) -> Int { Int(floor_scan_most_populous(reader, count)) }

    func indexMostPopulous(_ count: Int) -> Int { Int(floor_index_most_populous(reader, count)) }

    func first(_ count: Int) -> Int { Int(floor_first(reader, count)) }

    func write(_ range: Range<Int>) {
        floor_write(store, Int64(range.lowerBound), Int64(range.count))
    }
}

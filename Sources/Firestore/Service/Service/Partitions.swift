import LarderModel

/// Chooses documents that cut a long list of them into parts of about the same size, without
/// knowing how long it will be and without keeping it.
///
/// Of the list every so-many-th document is kept; when that are too many, every second of them
/// goes.
struct Partitions {
    /// No part is smaller than this, as Firestore has it.
    static let minSize = 128
    /// How much finer than asked for documents are kept.
    private static let fineness = 16
    /// However many are asked for.
    private static let maxCount = 10_000

    private let count: Int
    private var kept: [DocumentPath] = []
    private var stride = minSize / 8
    private var total = 0

    /// To cut a list at so many places, at most.
    init(count: Int) {
        self.count = min(max(count, 1), Self.maxCount)
    }

    /// Takes the next document of the list.
    mutating func add(_ path: DocumentPath) {
        if total.isMultiple(of: stride) { kept.append(path) }
        total += 1
        guard kept.count > (count + 1) * Self.fineness else { return }
        kept = kept.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        stride *= 2
    }

    /// Where to cut: each the first document of a part, but for the first part.
    var paths: [DocumentPath] {
        let parts = min(count + 1, total / Self.minSize)
        guard parts > 1 else { return [] }
        return (1..<parts).map { part in
            kept[min((total * part / parts + stride / 2) / stride, kept.count - 1)]
        }
    }
}
